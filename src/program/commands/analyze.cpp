// `trainyard analyze`: what a network holds and costs.
#include <memory>

#include "analysis/view.h"
#include "base/error.h"
#include "ir/printer.h"
#include "ops/passes/describe.h"
#include "program/command.h"
#include "program/model_argument.h"

namespace trainyard::cli {
namespace {

struct AnalyzeOptions {
  ModelArgument model;
  std::string view = "layers";
  std::string compare;
  report::Format format = report::Format::kText;
};

// A file's arithmetic for one operator counts as that operator, as it does for the built-in
// networks.
Graph described(Graph graph) {
  passes::describe(graph);
  return graph;
}

report::Document document_of_analyze(const AnalyzeOptions& options, const Graph& graph) {
  const int64_t batch = batch_of(graph);
  if (options.view == "memory") {
    return report::memory_document(graph.name(), analysis::analyze_memory(graph), batch);
  }
  if (options.view == "receptive-field") {
    return report::receptive_field_document(analysis::analyze_receptive_fields(graph));
  }
  const analysis::LayerTable table = analysis::analyze_layers(graph);
  if (!options.compare.empty()) {
    Graph other = described(options.model.load(options.compare));
    other.set_name(network::label(options.compare));
    return report::comparison_document(table, analysis::analyze_layers(other), batch);
  }
  return options.view == "kinds" ? report::kinds_document(table, batch)
                                 : report::layers_document(table, batch);
}

int analyze_command(const AnalyzeOptions& options, std::ostream& out) {
  TY_REQUIRE(options.compare.empty() || options.view == "layers",
             "--compare shows totals; it does not go with --view {}", options.view);
  Graph graph = options.model.load();
  graph.set_name(network::label(options.model.text()));
  if (options.view == "graph") {
    TY_REQUIRE(options.format == report::Format::kText,
               "--view graph is Graphviz source and has no other format");
    out << print_graphviz(graph);
  } else {
    out << report::render(document_of_analyze(options, described(std::move(graph))),
                          options.format);
  }
  return 0;
}

Runner setup_analyze(Args& args) {
  auto options = std::make_shared<AnalyzeOptions>();
  options->model.declare(args);
  args.choice("--view", options->view, {"layers", "kinds", "memory", "receptive-field", "graph"},
              "what to show; graph prints Graphviz source");
  args.option("--compare", options->compare, "another MODEL to compare totals with");
  args.format(options->format);
  return [options](std::ostream& out) { return analyze_command(*options, out); };
}

}  // namespace

extern const Command kAnalyze = {
    .name = "analyze",
    .group = "Analyze",
    .summary = "Parameters, MACs, FLOPs, memory and receptive fields, layer by layer",
    .examples =
        "  trainyard analyze vgg19\n"
        "  trainyard analyze vgg19 --view kinds\n"
        "  trainyard analyze resnet50 --batch 32 --view memory\n"
        "  trainyard analyze inception-module-naive --compare inception-module-reduced\n"
        "  trainyard analyze net.onnx --shape data=1,3,224,224 --format csv\n"
        "  trainyard analyze lenet5 --view graph | dot -Tsvg > lenet5.svg\n",
    .setup = setup_analyze,
};

}  // namespace trainyard::cli
