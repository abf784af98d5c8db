#include "program/model_picture.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "analysis/blocks.h"
#include "analysis/layers.h"
#include "analysis/layout.h"
#include "base/error.h"
#include "base/json.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/text.h"
#include "cluster/predict/op_time.h"
#include "cluster/predict/profile.h"
#include "cluster/predict/step.h"
#include "models/network.h"
#include "models/zoo/model.h"
#include "program/kept_predictions.h"

namespace trainyard::cli {
namespace {

using Query = std::map<std::string, std::string>;
using analysis::Block;

constexpr size_t kMostBoxes = 50'000;

std::string value_or(const Query& query, const std::string& name, std::string fallback) {
  const auto found = query.find(name);
  return found == query.end() ? std::move(fallback) : found->second;
}

// What a node costs for one image; of a block, the sum.
struct Costs {
  double flops = 0;
  double bytes = 0;
  double parameters = 0;
  double predicted_us = 0;  // forward and backward
  Costs& operator+=(const Costs& other) {
    flops += other.flops;
    bytes += other.bytes;
    parameters += other.parameters;
    predicted_us += other.predicted_us;
    return *this;
  }
};

struct Box {
  std::string id;
  const Block* block = nullptr;
  Costs costs = {};
};

class Picture {
 public:
  Picture(const Graph& graph, const Query& query)
      : graph_(graph), blocks_(analysis::find_blocks(graph)) {
    find_costs();
    find_times(value_or(query, "device", "a100"), batch_in(query));
    const std::vector<std::string> open = split(value_or(query, "open", ""), ',');
    open_ = {open.begin(), open.end()};
    // A network that is one block is shown from inside.
    for (size_t i = 0; i < blocks_.size(); ++i) {
      add_boxes(blocks_[i], fmt::format("{}", i), blocks_.size() == 1);
    }
  }

  Json json() const {
    const std::vector<std::pair<size_t, size_t>> edges = find_edges();
    const std::vector<analysis::Place> places = analysis::place_boxes(boxes_.size(), edges);
    Json::Array boxes;
    for (size_t i = 0; i < boxes_.size(); ++i) boxes.push_back(box_json(boxes_[i], places[i]));
    Json::Array lines;
    for (const auto& [from, to] : edges) {
      lines.push_back(Json::Array{static_cast<int64_t>(from), static_cast<int64_t>(to)});
    }
    return Json::object({{"name", printable_line(graph_.name())},
                         {"nodes", graph_.num_nodes()},
                         {"boxes", std::move(boxes)},
                         {"edges", std::move(lines)}});
  }

 private:
  static int64_t batch_in(const Query& query) {
    const std::string text = value_or(query, "batch", "32");
    const auto batch = parse_number<int64_t>(text);
    TY_REQUIRE(batch && *batch >= 1 && *batch <= 1'000'000,
               "batch is '{}', expected 1 to 1,000,000", text);
    return *batch;
  }

  void find_costs() {
    const analysis::LayerTable table = analysis::analyze_layers(graph_);
    const std::vector<NodeId> order = graph_.node_ids();
    costs_.resize(graph_.node_limit());
    const size_t inputs = table.layers.size() - order.size();
    for (size_t i = 0; i < order.size(); ++i) {
      const analysis::Figures& figures = table.layers[inputs + i].figures;
      costs_[static_cast<size_t>(order[i].index)] = {
          .flops = static_cast<double>(figures.cost.flops),
          .bytes = static_cast<double>(figures.bytes_moved()),
          .parameters = static_cast<double>(figures.params.trainable())};
    }
  }

  void find_times(const std::string& device_name, int64_t batch) {
    const auto catalog = kept_catalog({});
    const predict::Device& device = catalog->device(device_name);
    const predict::NetworkProfile profile = predict::profile_graph(graph_);
    const predict::Roofline roofline(device, catalog->default_stack(device),
                                     predict::Precision::kFp32);
    for (const predict::LayerTime& layer : predict::predict_layers(
             profile, roofline, static_cast<double>(batch), predict::Mode::kTraining)) {
      const NodeId node = graph_.find_node(layer.op->name);
      if (!node.valid()) continue;
      costs_[static_cast<size_t>(node.index)].predicted_us +=
          1e6 * (layer.time.forward.seconds + layer.time.backward());
    }
  }

  bool is_open(const std::string& id) const { return open_.contains("all") || open_.contains(id); }

  void add_boxes(const Block& block, const std::string& id, bool alone) {
    if (!block.inside.empty() && (alone || is_open(id))) {
      for (size_t i = 0; i < block.inside.size(); ++i) {
        add_boxes(block.inside[i], fmt::format("{}.{}", id, i), false);
      }
      return;
    }
    TY_REQUIRE(boxes_.size() < kMostBoxes, "more than {} boxes; close some blocks", kMostBoxes);
    boxes_.push_back({id, &block});
    gather(block, boxes_.size() - 1, boxes_.back().costs);
  }

  void gather(const Block& block, size_t box, Costs& costs) {
    for (const Block& part : block.inside) gather(part, box, costs);
    if (!block.inside.empty()) return;
    box_of_[block.node.index] = box;
    costs += costs_[static_cast<size_t>(block.node.index)];
  }

  std::vector<std::pair<size_t, size_t>> find_edges() const {
    std::set<std::pair<size_t, size_t>> edges;
    for (const NodeId id : graph_.node_ids()) {
      const size_t to = box_of_.at(id.index);
      for (const ValueId input : graph_.node(id).inputs) {
        if (!input.valid() || !graph_.value(input).producer.valid()) continue;
        const size_t from = box_of_.at(graph_.value(input).producer.index);
        if (from != to) edges.emplace(from, to);
      }
    }
    return {edges.begin(), edges.end()};
  }

  static const Block& last_of(const Block& block) {
    return block.inside.empty() ? block : last_of(block.inside.back());
  }

  void count_ops(const Block& block, std::map<std::string, int64_t>& counts) const {
    for (const Block& part : block.inside) count_ops(part, counts);
    if (block.inside.empty()) ++counts[graph_.node(block.node).op];
  }

  // "Conv ×3, Relu ×3, Add"
  std::string ops_text(const Block& block) const {
    std::map<std::string, int64_t> counts;
    count_ops(block, counts);
    std::vector<std::pair<int64_t, std::string>> sorted;
    for (const auto& [op, count] : counts) sorted.emplace_back(-count, op);
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::string> words;
    for (const auto& [count, op] : sorted) {
      words.push_back(count == -1 ? op : fmt::format("{} ×{}", op, -count));
    }
    return printable_line(join(words, ", "));
  }

  Json box_json(const Box& box, const analysis::Place& place) const {
    const Node& last = graph_.node(last_of(*box.block).node);
    std::string shape;
    if (!last.outputs.empty() && last.outputs[0].valid()) {
      shape = graph_.value(last.outputs[0]).type.shape.to_string();
    }
    const bool single = box.block->inside.empty();
    return Json::object({{"id", box.id},
                         {"title", single ? printable_line(last.op) : ops_text(*box.block)},
                         {"name", single ? printable_line(last.name) : ""},
                         {"nodes", box.block->num_nodes},
                         {"shape", shape},
                         {"flops", box.costs.flops},
                         {"bytes", box.costs.bytes},
                         {"parameters", box.costs.parameters},
                         {"predicted_us", box.costs.predicted_us},
                         {"x", place.x},
                         {"row", place.row}});
  }

  const Graph& graph_;
  std::vector<Block> blocks_;
  std::set<std::string> open_;
  std::vector<Costs> costs_;
  std::vector<Box> boxes_;
  std::unordered_map<int32_t, size_t> box_of_;
};

Graph load_graph(const Query& query) {
  const auto path = query.find("path");
  const std::string model = path != query.end() ? path->second : value_or(query, "model", "");
  TY_REQUIRE(path != query.end() || models::find_model(model) != nullptr,
             "'{}' is no built-in network; `trainyard models` lists them", model);
  network::Request request;
  request.model = model;
  request.batch = 1;
  return network::load(request);
}

}  // namespace

std::string model_picture_json(const Query& query) {
  Graph graph = load_graph(query);
  graph.sort();
  return Picture(graph, query).json().dump(-1);
}

}  // namespace trainyard::cli
