#include "models/onnx/adapters.h"

#include <gtest/gtest.h>

#include "ir/printer.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"

namespace trainyard::onnx_io {
namespace {

// The lines of the graph's nodes, and the integers of its constants.
std::string nodes_of(const onnx::ModelProto& model) {
  const Graph graph = import_bytes(model.SerializeAsString(), "test.onnx");
  std::string text;
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    text += value.name + " =";
    for (int64_t i = 0; i < value.constant->num_elements(); ++i) {
      text += fmt::format(" {}", element_as_double(*value.constant, i));
    }
    text += "\n";
  }
  const std::string all = print_graph(graph);
  for (const NodeId id : graph.node_ids()) {
    const size_t at = all.find("  " + graph.value(graph.node(id).outputs[0]).name + " : ");
    text += all.substr(at + 2, all.find('\n', at) - at - 1);
  }
  return text;
}

// One node 'n' from x: f32[2,3,4] to y.
struct OneNode {
  onnx::ModelProto model;
  onnx::NodeProto* node;

  OneNode(int64_t opset, const std::string& op, const std::vector<std::string>& inputs = {"x"})
      : model(empty_model(opset)) {
    add_input(model, "x", {"2", "3", "4"});
    node = add_node(model, op, inputs, {"y"}, "n");
    add_output(model, "y");
  }
};

TEST(Adapters, ClipBoundsBecomeInputs) {
  OneNode m(6, "Clip");
  set_float(m.node, "min", 0);
  set_float(m.node, "max", 6);
  EXPECT_EQ(nodes_of(m.model), "n.min = 0\nn.max = 6\ny : f32[2,3,4] = Clip(x, n.min, n.max)\n");
}

TEST(Adapters, OnlyAnUpperBoundLeavesTheLowerAbsent) {
  OneNode m(6, "Clip");
  set_float(m.node, "max", 6);
  EXPECT_EQ(nodes_of(m.model), "n.max = 6\ny : f32[2,3,4] = Clip(x, -, n.max)\n");
}

TEST(Adapters, SoftmaxOverSeveralDimensionsWorksOnAMatrix) {
  OneNode m(9, "Softmax");
  EXPECT_EQ(nodes_of(m.model),
            "n.shape = 2 3 4\n"
            "n.matrix : f32[2,12] = Flatten(x) {axis=1}\n"
            "n.rows : f32[2,12] = Softmax(n.matrix) {axis=1}\n"
            "y : f32[2,3,4] = Reshape(n.rows, n.shape)\n");
}

TEST(Adapters, SoftmaxOverTheLastDimensionStays) {
  OneNode m(9, "LogSoftmax");
  set_int(m.node, "axis", -1);
  EXPECT_EQ(nodes_of(m.model), "y : f32[2,3,4] = LogSoftmax(x) {axis=2}\n");
}

TEST(Adapters, SliceRangesBecomeInputs) {
  OneNode m(9, "Slice");
  set_ints(m.node, "starts", {1});
  set_ints(m.node, "ends", {3});
  set_ints(m.node, "axes", {2});
  EXPECT_EQ(nodes_of(m.model),
            "n.starts = 1\nn.ends = 3\nn.axes = 2\n"
            "y : f32[2,3,2] = Slice(x, n.starts, n.ends, n.axes)\n");
}

TEST(Adapters, PadAmountsBecomeInputs) {
  OneNode m(2, "Pad");
  set_ints(m.node, "pads", {0, 0, 1, 0, 0, 1});
  set_float(m.node, "value", 2);
  EXPECT_EQ(nodes_of(m.model),
            "n.pads = 0 0 1 0 0 1\nn.value = 2\ny : f32[2,3,6] = Pad(x, n.pads, n.value)\n");
}

TEST(Adapters, DropoutRatioBecomesAnInput) {
  OneNode m(7, "Dropout");
  set_float(m.node, "ratio", 0.5F);
  EXPECT_EQ(nodes_of(m.model), "n.ratio = 0.5\ny : f32[2,3,4] = Dropout(x, n.ratio)\n");
}

TEST(Adapters, BroadcastFromAnAxisBecomesAReshape) {
  OneNode m(6, "Add", {"x", "b"});
  add_floats(m.model, "b", {3}, {1, 2, 3});
  set_int(m.node, "broadcast", 1);
  set_int(m.node, "axis", 1);
  EXPECT_EQ(nodes_of(m.model),
            "b = 1 2 3\nn.shape = 3 1\n"
            "n.stretched : f32[3,1] = Reshape(b, n.shape)\n"
            "y : f32[2,3,4] = Add(x, n.stretched)\n");
}

TEST(Adapters, BatchNormalizationForgetsItsOldAttributes) {
  OneNode m(6, "BatchNormalization", {"x", "s", "s", "s", "s"});
  add_floats(m.model, "s", {3}, {1, 1, 1});
  set_int(m.node, "is_test", 1);
  set_int(m.node, "spatial", 1);
  EXPECT_EQ(nodes_of(m.model), "s = 1 1 1\ny : f32[2,3,4] = BatchNormalization(x, s, s, s, s)\n");
  set_int(m.node, "training_mode", 0);
  m.node->mutable_attribute(1)->set_i(0);
  EXPECT_NE(import_error(m.model).find("node 'n' (BatchNormalization): statistics per element"),
            std::string::npos);
}

TEST(Adapters, HelpersStayOutOfTheWayOfTheFilesNames) {
  OneNode m(6, "Clip");
  set_float(m.node, "max", 6);
  add_node(m.model, "Relu", {"x"}, {"n.max"});
  EXPECT_EQ(nodes_of(m.model),
            "n.max_1 = 6\ny : f32[2,3,4] = Clip(x, -, n.max_1)\nn.max : f32[2,3,4] = Relu(x)\n");
}

TEST(Adapters, OperatorsThatAreGoneHaveAnHeir) {
  EXPECT_TRUE(is_known_operator("", "Upsample"));
  EXPECT_TRUE(is_known_operator("", "Scatter"));
  EXPECT_FALSE(is_known_operator("com.microsoft", "Scatter"));
}

}  // namespace
}  // namespace trainyard::onnx_io
