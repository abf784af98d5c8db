#include "analysis/view.h"

#include <gtest/gtest.h>

#include "analysis/networks.h"
#include "base/file.h"
#include "base/text.h"
#include "support/columns.h"

namespace trainyard::report {
namespace {

size_t widest_line(const std::string& text) {
  size_t widest = 0;
  for (const std::string& line : split(text, '\n')) {
    const auto characters = std::count_if(line.begin(), line.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;
    });
    widest = std::max(widest, static_cast<size_t>(characters));
  }
  return widest;
}

std::string golden(const std::string& name) {
  return read_file(std::string(TY_GOLDEN_DIR) + "/" + name);
}

TEST(AnalysisReport, LayersOfASmallNetworkAsText) {
  const auto table = analysis::analyze_layers(analysis::small_net(2));
  EXPECT_EQ(render(layers_document(table, 2), Format::kText), golden("analyze_layers.txt"));
}

TEST(AnalysisReport, KindsOfASmallNetworkAsText) {
  const auto table = analysis::analyze_layers(analysis::small_net(2));
  EXPECT_EQ(render(kinds_document(table, 2), Format::kText), golden("analyze_kinds.txt"));
}

TEST(AnalysisReport, MemoryOfASmallNetworkAsText) {
  const auto use = analysis::analyze_memory(analysis::small_net(2));
  EXPECT_EQ(render(memory_document("small", use, 2), Format::kText), golden("analyze_memory.txt"));
}

TEST(AnalysisReport, ReceptiveFieldsOfASmallNetworkAsText) {
  const auto table = analysis::analyze_receptive_fields(analysis::small_net(2));
  EXPECT_EQ(render(receptive_field_document(table), Format::kText),
            golden("analyze_receptive_field.txt"));
}

TEST(AnalysisReport, LongNamesAndLargeNumbersFitATerminal) {
  const Columns terminal(100);
  analysis::LayerTable table;
  analysis::Layer layer;
  layer.name = "inception_4a/branch_with_a_long_name/5x5_reduce/convolution";
  layer.kind = "normalization";
  layer.output_shape = {256, 1024, 224, 224};
  layer.figures.activations = layer.figures.activation_bytes = 123'456'789'012;
  layer.figures.params = {.weights = 1'102'760'448, .biases = 4096, .statistics = 12};
  layer.figures.cost = {123'456'789'012, 123'456'789'012, 123'456'789'012, 123'456'789'012};
  table.layers = {layer};
  table.totals = layer.figures;
  table.kinds = {{"normalization", 1, layer.figures}};
  EXPECT_LE(widest_line(render(layers_document(table, 256), Format::kText)), 100U);
  EXPECT_LE(widest_line(render(kinds_document(table, 256), Format::kText)), 100U);
}

TEST(AnalysisReport, CsvHasOneRowPerLayerAndExactNumbers) {
  const auto table = analysis::analyze_layers(analysis::small_net(1));
  const std::vector<std::string> lines =
      split(render(layers_document(table, 1), Format::kCsv), '\n');
  EXPECT_EQ(lines[0],
            "name,kind,output_shape,activations,activation_bytes,params,params_without_bias,macs,"
            "flops,bytes_moved,intensity,macs_share");
  EXPECT_EQ(lines[2].substr(0, 53), "conv,convolution,1x4x8x8,256,1024,112,108,6912,14080,");
  EXPECT_EQ(lines.size(), 1 + table.layers.size() + 1 + 1);  // header, total, end of file
}

TEST(AnalysisReport, JsonHasTotalsAndLayers) {
  const auto table = analysis::analyze_layers(analysis::small_net(1));
  const Json json = Json::parse(render(layers_document(table, 1), Format::kJson), "test");
  EXPECT_EQ(json.at("totals").at("params").as_int(), 762);
  EXPECT_EQ(json.at("totals").at("params_without_bias").as_int(), 748);
  EXPECT_EQ(json.at("totals").at("macs").as_int(), 6912 + 640);
  const Json& conv = json.at("layers").items()[1];
  EXPECT_EQ(conv.at("name").as_string(), "conv");
  EXPECT_EQ(conv.at("kind").as_string(), "convolution");
  EXPECT_EQ(conv.at("output_shape").items()[1].as_int(), 4);
  EXPECT_EQ(conv.at("flops").as_int(), 14080);
  EXPECT_EQ(json.at("not_counted").items()[0].at("op").as_string(), "Flatten");
}

TEST(AnalysisReport, StackNamesTheFilterItEquals) {
  const int64_t fives[] = {5, 5, 5};
  const auto layers = analysis::stack_fields(fives, {});
  const std::string text = render(stack_document(layers), Format::kText);
  EXPECT_NE(text.find("as one 13x13 filter does: N*F - N + 1 = 3*5 - 3 + 1 = 13."),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("75 C^2"), std::string::npos);
}

TEST(AnalysisReport, StackWithStridesHasNoFormula) {
  const int64_t kernels[] = {5, 5, 5};
  const int64_t strides[] = {1, 2, 1};
  const auto layers = analysis::stack_fields(kernels, strides);
  const std::string text = render(stack_document(layers), Format::kText);
  EXPECT_EQ(text.find("N*F"), std::string::npos);
  EXPECT_NE(text.find("one 17x17 filter at stride 2"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::report
