#include "api/model.h"

#include <algorithm>

#include "analysis/layers.h"
#include "base/error.h"
#include "base/text.h"
#include "models/network.h"
#include "models/onnx/check.h"
#include "models/onnx/export.h"
#include "models/zoo/model.h"
#include "ops/inference.h"

namespace trainyard::api {
namespace {

network::Request request_of(const std::string& name, const ModelOptions& options) {
  network::Request request;
  request.model = name;
  request.weights = options.weights;
  request.batch = options.batch;
  request.shapes = options.shapes;
  request.classes = options.classes;
  request.image = options.image;
  return request;
}

std::vector<Port> ports_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<Port> ports;
  for (const ValueId id : values) {
    const Value& value = graph.value(id);
    ports.push_back({value.name, value.type});
  }
  return ports;
}

}  // namespace

Model::Model(const std::string& name, const ModelOptions& options)
    : name_(name),
      options_(options),
      graph_(std::make_shared<const Graph>(network::load(request_of(name, options)))) {}

Model::Model(Graph graph) {
  graph.sort();
  for (const NodeId node : graph.node_ids()) ops::infer_node(graph, node);
  const std::vector<std::string> problems = ops::verify_graph(graph);
  TY_REQUIRE(problems.empty(), "{}: {}", graph.name(), join(problems, "; "));
  graph_ = std::make_shared<const Graph>(std::move(graph));
}

Model Model::with_shapes(const std::map<std::string, Shape>& shapes) const {
  TY_REQUIRE(!name_.empty(), "{} was built for the shapes of its inputs alone", graph_->name());
  ModelOptions options = options_;
  if (network::is_path(name_)) {
    for (const auto& [name, shape] : shapes) options.shapes[name] = shape;
    options.batch.reset();
  } else if (!shapes.empty() && shapes.begin()->second.rank() > 0) {
    options.batch = shapes.begin()->second.dims()[0];
  }
  return Model(name_, options);
}

std::vector<Port> Model::inputs() const {
  return ports_of(*graph_, graph_->inputs());
}

std::vector<Port> Model::outputs() const {
  return ports_of(*graph_, graph_->outputs());
}

std::vector<LayerCost> Model::layers() const {
  std::vector<LayerCost> costs;
  for (const analysis::Layer& layer : analysis::analyze_layers(*graph_).layers) {
    const analysis::Figures& figures = layer.figures;
    costs.push_back({layer.name, layer.op, std::string(layer.kind), layer.output_shape,
                     figures.params.trainable(), figures.cost.macs, figures.cost.flops,
                     figures.bytes_moved()});
  }
  return costs;
}

void Model::save(const std::filesystem::path& path) const {
  onnx_io::export_model(*graph_, path);
}

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto* model : models::all_models()) names.emplace_back(model->name);
  return names;
}

std::vector<std::string> check_model_file(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  for (const onnx_io::Finding& finding : onnx_io::check_model(path).findings) {
    lines.push_back(finding.source + ": " + (finding.node.empty() ? "" : finding.node + ": ") +
                    finding.message);
  }
  return lines;
}

}  // namespace trainyard::api
