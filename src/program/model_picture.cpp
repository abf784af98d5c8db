#include "program/model_picture.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
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
#include "base/stopwatch.h"
#include "base/text.h"
#include "cluster/predict/op_time.h"
#include "cluster/predict/profile.h"
#include "cluster/predict/step.h"
#include "cluster/predict/this_machine.h"
#include "engine/bench.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "engine/profile.h"
#include "ir/graph.h"
#include "models/network.h"
#include "models/zoo/model.h"
#include "program/kept_predictions.h"

namespace trainyard::cli {
namespace {

// How long each node of a network takes on this machine.
struct MeasuredNodes {
  std::map<std::string, double> seconds;  // of one run, by the names of nodes
  double elsewhere_s = 0;                 // steps that are of no node of the network
  int64_t runs = 0;
};

// Runs the network, in use, for about a second: made-up inputs, all cores. What was fused into
// another node takes no time of its own.
MeasuredNodes measure_nodes(const Graph& network) {
  constexpr double kLongEnough = 0.8;
  constexpr int64_t kMostRuns = 50;
  const runtime::Executable executable = runtime::compile(Graph(network), {});
  runtime::ExecutionContext context(executable);
  runtime::fill_inputs(context, executable, /*seed=*/1);
  context.run();
  runtime::Profile profile(executable);
  const Stopwatch watch;
  MeasuredNodes measured;
  while (measured.runs == 0 || (watch.seconds() < kLongEnough && measured.runs < kMostRuns)) {
    context.run(&profile);
    ++measured.runs;
  }
  const std::vector<double> seconds = profile.step_seconds();
  for (size_t i = 0; i < seconds.size(); ++i) {
    const std::string& node = executable.steps()[i].node;
    if (network.find_node(node).valid()) {
      measured.seconds[node] += seconds[i];
    } else {
      measured.elsewhere_s += seconds[i];
    }
  }
  return measured;
}

using Query = std::map<std::string, std::string>;
using analysis::Block;

constexpr size_t kMostDrawnBoxes = 50'000;

std::string value_or(const Query& query, const std::string& name, std::string fallback) {
  const auto found = query.find(name);
  return found == query.end() ? std::move(fallback) : found->second;
}

Graph load_network(const Query& query, int64_t batch) {
  const auto path = query.find("path");
  const std::string model = path != query.end() ? path->second : value_or(query, "model", "");
  TY_REQUIRE(path != query.end() || models::find_model(model) != nullptr,
             "'{}' is no built-in network; `trainyard models` lists them", model);
  network::Request request;
  request.model = model;
  request.batch = batch;
  return network::load(request);
}

// What a node costs for one image; of a block, the sum.
struct Costs {
  double flops = 0;
  double bytes = 0;
  double parameters = 0;
  double predicted_us = 0;  // forward and backward, on the device that was asked for
  // In use, on this machine, of the batch that was measured.
  double measured_us = 0;
  double here_us = 0;  // predicted
  Costs& operator+=(const Costs& other) {
    flops += other.flops;
    bytes += other.bytes;
    parameters += other.parameters;
    predicted_us += other.predicted_us;
    measured_us += other.measured_us;
    here_us += other.here_us;
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
    batch_ = number_in(query, "batch", "32");
    predict_times(value_or(query, "device", "a100"), predict::Mode::kTraining,
                  &Costs::predicted_us);
    if (query.contains("measured")) measure_times(query);
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
                         {"batch", batch_},
                         {"measured", measured_ ? measured_json() : Json()},
                         {"boxes", std::move(boxes)},
                         {"edges", std::move(lines)}});
  }

 private:
  static int64_t number_in(const Query& query, const std::string& name, const char* usual) {
    const std::string text = value_or(query, name, usual);
    const auto number = parse_number<int64_t>(text);
    TY_REQUIRE(number && *number >= 1 && *number <= 1'000'000,
               "{} is '{}', expected 1 to 1,000,000", name, text);
    return *number;
  }

  // Whoever asks again with another word wants it measured again.
  void measure_times(const Query& query) {
    constexpr size_t kMostKept = 16;
    static std::map<std::string, MeasuredNodes> kept;
    const std::string key = fmt::format("{} {} {} {}", value_or(query, "path", ""),
                                        value_or(query, "model", ""), batch_, query.at("measured"));
    if (kept.size() >= kMostKept) kept.clear();
    auto found = kept.find(key);
    if (found == kept.end()) {
      found = kept.emplace(key, measure_nodes(load_network(query, batch_))).first;
    }
    measured_ = found->second;
    for (const auto& [name, seconds] : measured_->seconds) {
      const NodeId node = graph_.find_node(name);
      if (node.valid()) costs_[static_cast<size_t>(node.index)].measured_us += 1e6 * seconds;
    }
    try {
      predict_times(std::string(predict::kThisMachine), predict::Mode::kInference, &Costs::here_us);
    } catch (const Error&) {
      calibrated_ = false;
    }
  }

  Json measured_json() const {
    return Json::object({{"runs", measured_->runs},
                         {"elsewhere_us", 1e6 * measured_->elsewhere_s},
                         {"calibrated", calibrated_}});
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

  void predict_times(const std::string& device_name, predict::Mode mode, double Costs::*into) {
    const auto catalog = kept_catalog({});
    const predict::Device& device = catalog->device(device_name);
    const predict::NetworkProfile profile = predict::profile_graph(graph_);
    const predict::Roofline roofline(device, catalog->default_stack(device),
                                     predict::Precision::kFp32);
    for (const predict::LayerTime& layer :
         predict::predict_layers(profile, roofline, static_cast<double>(batch_), mode)) {
      const NodeId node = graph_.find_node(layer.op->name);
      if (!node.valid()) continue;
      const bool learns = mode == predict::Mode::kTraining;
      costs_[static_cast<size_t>(node.index)].*into +=
          1e6 * (layer.time.forward.seconds + (learns ? layer.time.backward() : 0));
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
    TY_REQUIRE(boxes_.size() < kMostDrawnBoxes, "more than {} boxes; close some blocks",
               kMostDrawnBoxes);
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

  void add_names(const Block& block, std::vector<std::string>& names) const {
    for (const Block& part : block.inside) add_names(part, names);
    if (block.inside.empty()) names.push_back(graph_.node(block.node).name);
  }

  // What the names of all its nodes begin with, in whole words: "layer1"; empty: nothing.
  std::string common_name(const Block& block) const {
    std::vector<std::string> names;
    add_names(block, names);
    std::string common = names.front();
    for (const std::string& name : names) {
      const auto [end, other] =
          std::mismatch(common.begin(), common.end(), name.begin(), name.end());
      common.erase(end, common.end());
    }
    const size_t end = common.find_last_of("./:");
    return end == std::string::npos ? std::string() : printable_line(common.substr(0, end));
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
                         {"name", single ? printable_line(last.name) : common_name(*box.block)},
                         {"nodes", box.block->num_nodes},
                         {"shape", shape},
                         {"flops", box.costs.flops},
                         {"bytes", box.costs.bytes},
                         {"parameters", box.costs.parameters},
                         {"predicted_us", box.costs.predicted_us},
                         {"measured_us", box.costs.measured_us},
                         {"here_us", box.costs.here_us},
                         {"x", place.x},
                         {"row", place.row}});
  }

  const Graph& graph_;
  int64_t batch_ = 1;
  std::optional<MeasuredNodes> measured_;
  bool calibrated_ = true;
  std::vector<Block> blocks_;
  std::set<std::string> open_;
  std::vector<Costs> costs_;
  std::vector<Box> boxes_;
  std::unordered_map<int32_t, size_t> box_of_;
};

}  // namespace

std::string model_picture_json(const Query& query) {
  Graph graph = load_network(query, 1);
  graph.sort();
  return Picture(graph, query).json().dump(-1);
}

}  // namespace trainyard::cli
