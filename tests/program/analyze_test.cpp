#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

Json run_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Json::parse(outcome.out, arguments[0]);
}

TEST(ReceptiveFieldCommand, ThreeFivesEqualThirteen) {
  const Json json = run_json({"receptive-field", "5", "5", "5"});
  EXPECT_EQ(json.at("receptive_field").as_int(), 13);
  EXPECT_EQ(json.at("equals_filter").as_string(), "13x13");
}

TEST(ReceptiveFieldCommand, TakesStrides) {
  const Json json = run_json({"receptive-field", "5", "5", "5", "--strides", "1,2,1"});
  EXPECT_EQ(json.at("receptive_field").as_int(), 17);
  EXPECT_EQ(json.at("jump").as_int(), 2);
}

TEST(ReceptiveFieldCommand, RejectsAStrideTooMany) {
  const Outcome outcome = run({"receptive-field", "5", "--strides", "1,2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("2 strides for 1 kernels"), std::string::npos) << outcome.err;
}

const Json& member(const Json& list, std::string_view key, std::string_view value) {
  for (const Json& item : list.items()) {
    if (item.at(key).as_string() == value) return item;
  }
  ADD_FAILURE() << "nothing with " << key << " " << value;
  return list;
}

TEST(AnalyzeCommand, Vgg19HasTheFiguresOfTheTextbook) {
  const Json json = run_json({"analyze", "vgg19"});
  const Json& totals = json.at("totals");
  EXPECT_EQ(totals.at("params").as_int(), 143'667'240);
  EXPECT_EQ(totals.at("params_without_bias").as_int(), 143'652'544);
  EXPECT_EQ(totals.at("macs").as_int(), 19'632'062'464);
  const Json& image = json.at("layers").items()[0];
  EXPECT_EQ(image.at("activations").as_int(), 150'528);
  const Json& first = json.at("layers").items()[1];
  EXPECT_EQ(first.at("kind").as_string(), "convolution");
  EXPECT_EQ(first.at("activations").as_int(), 3'211'264);
  EXPECT_EQ(first.at("params_without_bias").as_int(), 1'728);
}

TEST(AnalyzeCommand, ConvolutionsShareOfVgg19) {
  const Json json = run_json({"analyze", "vgg19", "--view", "kinds"});
  const Json& convolution = member(json.at("kinds"), "kind", "convolution");
  EXPECT_EQ(convolution.at("macs").as_int(), 19'508'428'800);
  const Outcome text = run({"analyze", "vgg19", "--view", "kinds"});
  EXPECT_NE(text.out.find("19,508,428,800   99.37"), std::string::npos) << text.out;
}

TEST(AnalyzeCommand, ReductionsSaveTwoThirdsOfAnInceptionModule) {
  const Json json =
      run_json({"analyze", "inception-module-naive", "--compare", "inception-module-reduced"});
  const Json& macs = member(json.at("comparison"), "name", "macs");
  EXPECT_EQ(macs.at("a").as_int(), 1'115'684'864);
  EXPECT_EQ(macs.at("b").as_int(), 354'418'688);
  constexpr double kHalfOfThePrintedDigit = 0.0005;
  EXPECT_NEAR(macs.at("saving").as_number(), 0.682, kHalfOfThePrintedDigit);
}

TEST(AnalyzeCommand, BatchScalesCostButNotParameters) {
  const Json one = run_json({"analyze", "lenet5"});
  const Json eight = run_json({"analyze", "lenet5", "--batch", "8"});
  EXPECT_EQ(eight.at("batch").as_int(), 8);
  EXPECT_EQ(eight.at("totals").at("macs").as_int(), 8 * one.at("totals").at("macs").as_int());
  EXPECT_EQ(eight.at("totals").at("params").as_int(), one.at("totals").at("params").as_int());
}

TEST(AnalyzeCommand, EveryViewAndFormatOfEveryKindOfNetwork) {
  for (const char* model : {"mlp", "lenet5", "resnet20-cifar", "ssd300-mobilenet_v1"}) {
    for (const char* view : {"layers", "kinds", "memory", "receptive-field"}) {
      for (const char* format : {"text", "md", "csv", "json"}) {
        const Outcome outcome = run({"analyze", model, "--view", view, "--format", format});
        EXPECT_EQ(outcome.code, 0) << model << view << outcome.err;
        EXPECT_FALSE(outcome.out.empty());
      }
    }
  }
}

TEST(AnalyzeCommand, FilesAreCalledByTheirNames) {
  const std::string file = "/usr/share/libonnx-testdata/data/node/test_relu/model.onnx";
  const Json json = run_json({"analyze", file, "--compare", "mlp"});
  EXPECT_EQ(json.at("a").at("model").as_string(), "model.onnx");
  EXPECT_EQ(json.at("b").at("model").as_string(), "mlp");
  EXPECT_EQ(json.at("a").at("totals").at("flops").as_int(), 3 * 4 * 5);
}

TEST(AnalyzeCommand, GraphIsGraphvizSource) {
  const Outcome outcome = run({"analyze", "lenet5", "--view", "graph"});
  EXPECT_EQ(outcome.out.substr(0, 8), "digraph ");
  EXPECT_EQ(run({"analyze", "lenet5", "--view", "graph", "--json"}).code, 2);
}

TEST(AnalyzeCommand, WrongRequestsSayWhatToTry) {
  const auto message = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2);
    return outcome.err;
  };
  const auto says = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(says(message({"analyze", "vgg190"}), "vgg19"));
  EXPECT_TRUE(says(message({"analyze", "/nowhere/net.onnx"}), "/nowhere/net.onnx"));
  EXPECT_TRUE(says(message({"analyze", "vgg19", "--batch", "0"}), "expected 1 or more"));
  EXPECT_TRUE(says(message({"analyze", "vgg19", "--shape", "image=1"}), "takes batch and image"));
  EXPECT_TRUE(says(message({"analyze", "net.onnx", "--classes", "3"}), "takes batch and shape"));
  EXPECT_TRUE(says(message({"analyze", "net.onnx", "--shape", "x=1,b"}), "'b'"));
  EXPECT_TRUE(says(message({"analyze", "net.onnx", "--shape", "1,3"}), "NAME="));
  EXPECT_TRUE(
      says(message({"analyze", "vgg19", "--view", "memory", "--compare", "vgg16"}), "--compare"));
}

}  // namespace
}  // namespace trainyard::cli
