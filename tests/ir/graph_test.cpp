#include "ir/graph.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/printer.h"

namespace trainyard {
namespace {

const TensorType kVector{DType::kF32, {4}};

NodeId add_relu(Graph& graph, const std::string& name, ValueId x) {
  return graph.add_node(name, "Relu", {x}, {}, std::array{name}, std::array{kVector});
}

TEST(Graph, KeepsProducersAndConsumersUnderEdits) {
  Graph graph("g");
  const ValueId x = graph.add_input("x", kVector);
  const NodeId a = add_relu(graph, "a", x);
  const NodeId b = add_relu(graph, "b", graph.node(a).outputs[0]);
  graph.set_outputs({graph.node(b).outputs[0]});
  EXPECT_EQ(graph.value(x).consumers, std::vector<NodeId>{a});

  graph.replace_uses(graph.node(a).outputs[0], x);
  graph.erase_node(a);
  EXPECT_EQ(graph.value(x).consumers, std::vector<NodeId>{b});
  EXPECT_EQ(graph.node_ids(), std::vector<NodeId>{b});
  EXPECT_FALSE(graph.find_value("a").valid());
}

TEST(Graph, SortPutsProducersFirstAndNamesACycle) {
  Graph graph("g");
  const ValueId x = graph.add_input("x", kVector);
  const NodeId late = add_relu(graph, "late", x);
  const NodeId early = add_relu(graph, "early", x);
  graph.set_node_input(late, 0, graph.node(early).outputs[0]);
  graph.sort();
  EXPECT_EQ(graph.node_ids(), (std::vector<NodeId>{early, late}));

  graph.set_node_input(early, 0, graph.node(late).outputs[0]);
  try {
    graph.sort();
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("depends on its own output"), std::string::npos);
  }
}

TEST(Graph, UniqueNamesCountUp) {
  Graph graph("g");
  graph.add_input("x", kVector);
  EXPECT_EQ(graph.unique_name("y"), "y");
  EXPECT_EQ(graph.unique_name("x"), "x_1");
}

TEST(Printer, ShowsOneLineAValue) {
  Graph graph("g");
  const ValueId x = graph.add_input("x", kVector);
  graph.add_initializer("w", kVector, init_constant(1));
  const NodeId a = add_relu(graph, "a", x);
  graph.set_outputs({graph.node(a).outputs[0]});
  EXPECT_EQ(print_graph(graph),
            "graph g\n  input x : f32[4]\n  init  w : f32[4] = fill 1\n  a : f32[4] = Relu(x)\n  "
            "output a\n");
  EXPECT_NE(print_graphviz(graph).find("\"value x\" -> \"node a\" [label=\"4\"]"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
