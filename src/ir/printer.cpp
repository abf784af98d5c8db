#include "ir/printer.h"

#include <fmt/format.h>

namespace trainyard {
namespace {

std::string name_or_dash(const Graph& graph, ValueId id) {
  return id.valid() ? graph.value(id).name : "-";
}

std::string rule_text(const Value& value) {
  if (value.constant) return "data";
  switch (value.rule.kind) {
    case InitRule::Kind::kConstant:
      return fmt::format("fill {}", value.rule.scale);
    case InitRule::Kind::kNormal:
      return fmt::format("normal {:.4g}", value.rule.scale);
    case InitRule::Kind::kUniform:
      return fmt::format("uniform {:.4g}", value.rule.scale);
  }
  return "";
}

std::string node_line(const Graph& graph, const Node& node) {
  std::string outputs;
  for (const ValueId id : node.outputs) {
    if (!outputs.empty()) outputs += ", ";
    outputs += name_or_dash(graph, id);
    if (id.valid()) outputs += " : " + graph.value(id).type.to_string();
  }
  std::string inputs;
  for (const ValueId id : node.inputs) {
    if (!inputs.empty()) inputs += ", ";
    inputs += name_or_dash(graph, id);
  }
  std::string attributes;
  for (const auto& [name, attribute] : node.attributes) {
    attributes +=
        fmt::format("{}{}={}", attributes.empty() ? " {" : ", ", name, attribute_text(attribute));
  }
  if (!attributes.empty()) attributes += "}";
  return fmt::format("  {} = {}({}){}\n", outputs, node.op, inputs, attributes);
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string print_graph(const Graph& graph) {
  std::string text = fmt::format("graph {}\n", graph.name());
  for (const ValueId id : graph.inputs()) {
    text +=
        fmt::format("  input {} : {}\n", graph.value(id).name, graph.value(id).type.to_string());
  }
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    text +=
        fmt::format("  init  {} : {} = {}\n", value.name, value.type.to_string(), rule_text(value));
  }
  for (const NodeId id : graph.node_ids()) text += node_line(graph, graph.node(id));
  for (const ValueId id : graph.outputs())
    text += fmt::format("  output {}\n", graph.value(id).name);
  return text;
}

std::string print_graphviz(const Graph& graph) {
  std::string text = fmt::format(
      "digraph {} {{\n  rankdir=TB;\n  node [shape=box, style=rounded, fontname=\"sans-serif\", "
      "fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n",
      quoted(graph.name()));
  const auto place = [&](ValueId id) {
    const Value& value = graph.value(id);
    return quoted(value.producer.valid() ? "node " + graph.node(value.producer).name
                                         : "value " + value.name);
  };
  for (const ValueId id : graph.inputs()) {
    text += fmt::format("  {} [label={}, shape=ellipse];\n", place(id),
                        quoted(graph.value(id).name + " " + graph.value(id).type.to_string()));
  }
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    text +=
        fmt::format("  {} [label=\"{}\\n{}\"];\n", quoted("node " + node.name), node.op, node.name);
    for (const ValueId input : node.inputs) {
      if (!input.valid() || graph.value(input).kind == ValueKind::kInitializer) continue;
      text += fmt::format("  {} -> {} [label=\"{}\"];\n", place(input), quoted("node " + node.name),
                          graph.value(input).type.shape.to_string());
    }
  }
  for (const ValueId id : graph.outputs()) {
    const std::string name = quoted("output " + graph.value(id).name);
    text += fmt::format("  {} [label={}, shape=ellipse];\n  {} -> {};\n", name,
                        quoted(graph.value(id).name), place(id), name);
  }
  return text + "}\n";
}

}  // namespace trainyard
