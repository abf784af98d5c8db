// Pictures for networks whose files say how they were trained.
#include "serve/pictures.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "data/image.h"
#include "onnx_io/export.h"
#include "ops/builder.h"
#include "serve/fixture.h"
#include "serve/v2_codec.h"
#include "support/temporary_folder.h"

namespace trainyard::serve {
namespace {

// Two classes: how much brighter the first two of four grey pixels are, and the opposite.
Graph brightness_graph() {
  Graph graph("brightness");
  ops::Builder builder(graph);
  const ValueId input = builder.input("PIXELS", {DType::kF32, Shape{1, 1, 2, 2}});
  const ValueId flat = builder.add("Flatten", {input}, {}, "flat");
  const std::vector<float> numbers = {1, -1, 1, -1, -1, 1, -1, 1};
  const ValueId weights =
      builder.constant("weights", Tensor::of<float>(Shape{4, 2}, std::span<const float>(numbers)));
  graph.set_outputs({builder.add("MatMul", {flat, weights}, {}, "SCORES")});
  return graph;
}

// The upper half white, the lower black.
std::string picture() {
  data::Image image{2, 2, std::vector<uint8_t>(12, 0)};
  std::fill_n(image.pixels.begin(), 6, uint8_t{255});
  return data::encode_png(image);
}

class PicturesTest : public ::testing::Test {
 protected:
  NetworkSource source(const onnx_io::Metadata& metadata) {
    onnx_io::ExportOptions options;
    options.batch_name = "batch";
    options.metadata = metadata;
    onnx_io::export_model(brightness_graph(), folder_ / "model.onnx", options);
    return file_source(folder_ / "model.onnx");
  }
  std::string load_error(const onnx_io::Metadata& metadata) {
    return error_of([&] { ModelVersion(config(), 1, source(metadata), {gate_, nullptr}); });
  }
  static ModelConfig config() {
    ModelConfig config;
    config.name = "brightness";
    return config;
  }

  TemporaryFolder folder_{"serve_pictures"};
  ComputeGate gate_{1};
};

TEST_F(PicturesTest, BecomeInputsAsTheNetworkWasTrained) {
  ModelVersion model(config(), 1,
                     source({{onnx_io::kClassesKey, "top\nbottom\n"},
                             {onnx_io::kStepsKey, "normalize:0.5:0.25"},
                             {onnx_io::kPictureKey, "1x2x2"}}),
                     {gate_, nullptr});
  InferRequest request = read_v2_raw(std::make_shared<std::string>(picture()),
                                     model.network().inputs(), model.network().takes_pictures());
  prefer_classes(model, request);
  InferRequest wanted;
  wanted.outputs = request.outputs;
  Answer answer;
  InferDone done = answer.done();
  ASSERT_TRUE(model.infer(request, done));
  // White is (1 - 0.5) / 0.25 = 2, black -2.
  const std::string body = write_v2_response(wanted, answer.get(), model.network().labels()).body;
  EXPECT_NE(body.find(R"("data":["8.000000:0:top","-8.000000:1:bottom"])"), std::string::npos)
      << body;
}

TEST_F(PicturesTest, StepsThatDoNotFitAreAReasonNotToLoad) {
  const auto with = [](const std::string& steps, const std::string& shape) {
    return onnx_io::Metadata{{onnx_io::kStepsKey, steps}, {onnx_io::kPictureKey, shape}};
  };
  EXPECT_EQ(load_error(with("normalize:0.5:0.25", "1x2x2")), "");
  EXPECT_NE(
      load_error(with("normalize:0.5:0.25", "1x3x3")).find("but input 'PIXELS' is [-1,1,2,2]"),
      std::string::npos);
  EXPECT_NE(load_error(with("nonsense", "1x2x2")).find("nonsense"), std::string::npos);
  EXPECT_NE(load_error(with("normalize:0.5:0.25", "banana")).find("no shape of pictures"),
            std::string::npos);
  EXPECT_NE(load_error(with("normalize:0.5:0.25", "1x999999x999999")).find("pixels"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::serve
