#include "models/onnx/export.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "ir/printer.h"
#include "models/onnx/check.h"
#include "models/onnx/fixture.h"
#include "models/onnx/import.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::onnx_io {
namespace {

// A small network with drawn and given weights, an absent input, and attributes of several kinds.
Graph small_network() {
  Graph graph("small");
  ops::Builder b(graph);
  ValueId x = b.input("image", {DType::kF32, {2, 3, 8, 8}});
  const ValueId w = b.parameter("conv.weight", {4, 3, 3, 3}, init_he_normal(27));
  const ValueId bias = b.parameter("conv.bias", {4}, init_constant(0.5));
  x = b.add("Conv", {x, w, bias}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}, "conv");
  x = b.add("Clip", {x, kNoValue, b.constant_scalar("six", 6.0F)}, {}, "relu6");
  x = b.add("AveragePool", {x},
            {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}},
            "pool");
  x = b.add("Reshape", {x, b.constant_ints("shape", std::vector<int64_t>{2, -1})}, {}, "flat");
  const ValueId fc = b.parameter("fc.weight", {256, 10}, init_xavier_uniform(256, 10));
  x = b.add("Gemm", {x, fc}, {{"alpha", 0.5F}}, "fc");
  graph.set_outputs({x});
  return graph;
}

void expect_same_numbers(const Graph& original, const Graph& read, uint64_t seed) {
  for (const ValueId id : original.initializers()) {
    const Value& value = original.value(id);
    const auto expected = initializer_data(value, seed);
    const auto found = initializer_data(read.value(read.find_value(value.name)), seed);
    ASSERT_EQ(found->type(), expected->type()) << value.name;
    for (int64_t i = 0; i < expected->num_elements(); ++i) {
      ASSERT_EQ(element_as_double(*found, i), element_as_double(*expected, i)) << value.name;
    }
  }
}

// The text of a graph without where its initializers come from.
std::string structure(const Graph& graph) {
  std::string text;
  for (std::string line : split(print_graph(graph), '\n')) {
    if (line.starts_with("  init ")) line.resize(line.find(" = "));
    text += line + "\n";
  }
  return text;
}

TEST(Export, ComesBackTheSame) {
  const TemporaryFolder folder;
  const Graph graph = small_network();
  export_model(graph, folder.path() / "m.onnx", {.seed = 3, .progress = {}});
  const Graph read = import_model(folder.path() / "m.onnx");
  EXPECT_EQ(structure(read), structure(graph));
  expect_same_numbers(graph, read, 3);
}

TEST(Export, TheZooComesBackTheSame) {
  constexpr int64_t kSmall = 2'000'000;  // parameters; the larger ones differ in size alone
  const TemporaryFolder folder;
  int tried = 0;
  for (const models::ModelDef* model : models::all_models()) {
    const Graph graph = models::build_model(model->name);
    int64_t numbers = 0;
    for (const ValueId id : graph.initializers()) {
      numbers += graph.value(id).type.shape.num_elements();
    }
    if (numbers > kSmall) continue;
    const auto path = folder.path() / (std::string(model->name) + ".onnx");
    export_model(graph, path);
    EXPECT_EQ(structure(import_model(path)), structure(graph)) << model->name;
    ++tried;
  }
  EXPECT_GE(tried, 5);
}

TEST(Export, LargeTensorsAreAlignedInTheFile) {
  const TemporaryFolder folder;
  Graph graph("aligned");
  ops::Builder b(graph);
  graph.set_outputs({b.add("Relu", {b.input("x", {DType::kF32, {1}})})});
  for (size_t i = 0; i < 70; ++i) {  // names of all lengths, for every remainder
    b.parameter(std::string(i + 1, 'w'), {300}, init_constant(static_cast<double>(i + 1)));
  }
  export_model(graph, folder.path() / "m.onnx");
  const std::string file = read_file(folder.path() / "m.onnx");
  for (size_t i = 0; i < 70; ++i) {
    const std::vector<float> numbers(300, static_cast<float>(i + 1));
    const std::string bytes(reinterpret_cast<const char*>(numbers.data()), 1200);
    EXPECT_EQ(file.find(bytes) % 64, 0U) << i;
  }
  EXPECT_TRUE(check_model(folder.path() / "m.onnx").findings.empty());
}

TEST(Export, SatisfiesTheCheckers) {
  const TemporaryFolder folder;
  export_model(small_network(), folder.path() / "m.onnx");
  const CheckReport report = check_model(folder.path() / "m.onnx");
  for (const Finding& finding : report.findings) ADD_FAILURE() << finding.message;
  EXPECT_EQ(report.opset, 17);
  EXPECT_EQ(report.ir_version, 8);
  EXPECT_EQ(report.num_nodes, 5);
}

TEST(Export, LargeModelsKeepTheirWeightsBesideThem) {
  const TemporaryFolder folder;
  const Graph graph = small_network();
  export_model(graph, folder.path() / "m.onnx", {.seed = 3, .largest_file = 4096, .progress = {}});
  EXPECT_EQ(std::filesystem::file_size(folder.path() / "m.onnx.data"), 10240U);
  const Graph read = import_model(folder.path() / "m.onnx");
  EXPECT_EQ(structure(read), structure(graph));
  expect_same_numbers(graph, read, 3);
  EXPECT_TRUE(check_model(folder.path() / "m.onnx").findings.empty());
}

TEST(Export, EveryElementTypeIsWritten) {
  const TemporaryFolder folder;
  Graph graph("types");
  ops::Builder b(graph);
  graph.set_outputs({b.add("Relu", {b.input("x", {DType::kF32, {1}})})});
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF64}) {
    b.parameter(dtype_name(dtype), {3}, init_he_normal(2), dtype);
  }
  b.parameter("i8", {3}, init_constant(-3), DType::kI8);
  export_model(graph, folder.path() / "m.onnx");
  expect_same_numbers(graph, import_model(folder.path() / "m.onnx"), 0);
}

TEST(Export, WhatOnnxDoesNotHaveIsNamed) {
  const TemporaryFolder folder;
  Graph graph("odd");
  const ValueId x = graph.add_input("x", {DType::kF32, {2}});
  const std::vector<std::string> names = {"y"};
  const std::vector<TensorType> types = {{DType::kF32, {2}}};
  graph.add_node("n", "MadeUp", {x}, {}, names, types);
  graph.set_outputs({graph.find_value("y")});
  try {
    export_model(graph, folder.path() / "m.onnx");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "graph 'odd' cannot be exported: ONNX opset 17 does not have MadeUp");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Export, ReportsProgress) {
  const TemporaryFolder folder;
  int64_t last = 0;
  int64_t goal = 0;
  export_model(small_network(), folder.path() / "m.onnx",
               {.progress = [&](int64_t done, int64_t total) {
                 EXPECT_GT(done, last);
                 last = done;
                 goal = total;
               }});
  EXPECT_EQ(last, goal);
  EXPECT_GT(goal, 0);
}

TEST(Export, LeavesNothingWhereItCannotWrite) {
  EXPECT_THROW(export_model(small_network(), "/nowhere/at/all/m.onnx"), Failure);
}

TEST(Export, AnOpenBatchAndMetadataComeBack) {
  const auto path = std::filesystem::temp_directory_path() / "trainyard_export_open.onnx";
  ExportOptions options;
  options.batch_name = "batch";
  options.metadata = {{kClassesKey, "cat\ndog\n"}, {"other", std::string(2000, 'x')}};
  export_model(models::build_model("lenet5", {.batch = 7}), path, options);
  EXPECT_EQ(batch_of(import_model(path)), 1) << "an open dimension";
  EXPECT_EQ(batch_of(import_model(path, {.batch = 3, .shapes = {}})), 3);
  EXPECT_TRUE(check_model(path, {}).findings.empty());
  EXPECT_EQ(read_metadata(path), options.metadata);
  export_model(models::build_model("lenet5", {.batch = 7}), path);
  EXPECT_EQ(batch_of(import_model(path)), 7);
  EXPECT_TRUE(read_metadata(path).empty());
  std::filesystem::remove(path);
}

std::string ops_at(const Graph& graph, int64_t opset) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "m.onnx";
  ExportOptions options;
  options.opset = opset;
  export_model(graph, path, options);
  const Graph read = import_model(path);
  std::string ops;
  for (const NodeId id : read.node_ids()) ops += read.node(id).op + " ";
  EXPECT_EQ(read.value(read.outputs()[0]).type, graph.value(graph.outputs()[0]).type);
  return ops;
}

TEST(ExportOpset, NewerOperatorsAreMadeOfOlderOnes) {
  Graph graph("newer");
  ops::Builder b(graph);
  ValueId x = b.input("x", {DType::kF32, {2, 5, 8}});
  x = b.add("Swish", {b.add("Gelu", {x})});
  x = b.add("Attention", {x, x, x},
            {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}, {"is_causal", int64_t{1}}});
  x = b.add("RMSNormalization", {x, b.parameter("norm.weight", {8}, init_constant(1))});
  const ValueId turns = b.parameter("turns.weight", {5, 2}, init_constant(0.5));
  const std::vector<int64_t> places = {0, 1, 2, 3, 4, 0, 1, 2, 0, 1};
  x = b.add("RotaryEmbedding",
            {x, turns, turns, b.constant("places", Tensor::of<int64_t>({2, 5}, places))},
            {{"num_heads", int64_t{2}}});
  graph.set_outputs({x});
  EXPECT_EQ(ops_at(graph, 28), "Gelu Swish Attention RMSNormalization RotaryEmbedding ");
  const std::string at_17 = ops_at(graph, 17);
  for (const char* newer : {"Gelu", "Swish", "Attention", "RMSNormalization", "RotaryEmbedding"}) {
    EXPECT_EQ(at_17.find(newer), std::string::npos) << at_17;
  }
  EXPECT_NE(at_17.find("Erf"), std::string::npos) << at_17;
}

TEST(ExportOpset, AxesOfReductionsAndPartsOfSplitsAreWrittenAsTheOpsetWants) {
  Graph graph("reduced");
  ops::Builder b(graph);
  const ValueId x = b.input("x", {DType::kF32, {2, 6}});
  const std::vector<ValueId> parts = b.add_multi("Split", {x}, 2, {{"axis", int64_t{1}}});
  const ValueId sum = b.add("Add", {parts[0], parts[1]});
  graph.set_outputs({b.add("ReduceMean", {sum}, {{"axes", std::vector<int64_t>{1}}})});
  for (const int64_t opset : {17, 18, 28}) EXPECT_EQ(ops_at(graph, opset), "Split Add ReduceMean ");
}

TEST(ExportOpset, OpsetsThatAreNotWrittenAreRefused) {
  for (const int64_t opset : {-1, 16, 29}) {
    ExportOptions options;
    options.opset = opset;
    EXPECT_THROW(export_model(small_network(), "never.onnx", options), Error) << opset;
  }
}

}  // namespace
}  // namespace trainyard::onnx_io
