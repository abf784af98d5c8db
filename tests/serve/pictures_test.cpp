// Pictures for networks whose files say how they were trained.
#include "serve/models/pictures.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "data/image.h"
#include "models/onnx/export.h"
#include "ops/builder.h"
#include "serve/fixture.h"
#include "serve/models/rows.h"
#include "serve/protocol/v2_codec.h"
#include "support/temporary_folder.h"

namespace trainyard::serve {
namespace {

// Two classes: how much brighter the first two of four gray pixels are, and the opposite.
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
std::string picture(int64_t side = 64) {
  const auto bytes = static_cast<size_t>(side * side * 3);
  data::Image image{side, side, std::vector<uint8_t>(bytes, 0)};
  std::fill_n(image.pixels.begin(), bytes / 2, uint8_t{255});
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
  static HttpResponse ask(ModelVersion& model, std::string_view accept, std::string_view query,
                          int64_t side = 64) {
    const Body body(picture(side));
    InferRequest request =
        read_v2_raw(body, model.network().inputs(), model.network().takes_pictures());
    Answer answer;
    InferDone done = answer.done();
    EXPECT_TRUE(model.infer(request, done));
    return answer_question(read_question(body, accept, query), answer.get(), model.network());
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
  // White is (1 - 0.5) / 0.25 = 2, black -2.
  const std::string body = ask(model, "", "", 2).body;
  EXPECT_NE(body.find(R"("data":["8.000000:0:top","-8.000000:1:bottom"])"), std::string::npos)
      << body;
}

// The steps alone say enough: pictures of any size, with the channels of the input.
TEST_F(PicturesTest, BecomeInputsByTheStepsOfAFileWithoutAShape) {
  const auto answer = [&](const std::string& steps) {
    ModelVersion model(config(), 1, source({{onnx_io::kStepsKey, steps}}), {gate_, nullptr});
    return ask(model, "", "", 2).body;
  };
  const std::string one = answer("resize:2x2,normalize:0.5:0.25");
  EXPECT_NE(one.find("8.000000:0"), std::string::npos) << one;
  const std::string other = answer("resize:2x2,normalize:0.5:0.5");
  EXPECT_NE(other.find("4.000000:0"), std::string::npos) << other;
}

TEST_F(PicturesTest, ComeBackWithTheirClassDrawn) {
  ModelVersion model(config(), 1, source({}), {gate_, nullptr});
  const HttpResponse response = ask(model, "image/png", "");
  EXPECT_EQ(response.content_type, "image/png");
  const data::Image drawn = data::decode_image(response.body, "the answer");
  EXPECT_EQ(drawn.width, 64);
  EXPECT_NE(drawn.pixels, data::decode_image(picture(), "the picture").pixels);
}

// Whatever the picture: a box of a quarter with class 1, and one with class 7 and a low score.
Graph quarter_graph() {
  Graph graph("quarter");
  ops::Builder builder(graph);
  const ValueId input = builder.input("image", {DType::kF32, Shape{1, 3, 4, 4}});
  const ValueId zero = builder.add("ReduceMax", {input}, {{"keepdims", int64_t{0}}}, "brightest");
  const auto constant = [&](const char* name, const Shape& shape,
                            const std::vector<float>& numbers) {
    return builder.constant(name, Tensor::of<float>(shape, std::span<const float>(numbers)));
  };
  const ValueId none = builder.add("Mul", {zero, constant("none", Shape{}, {0})}, {}, "nothing");
  const ValueId corners =
      constant("corners", Shape{1, 2, 4}, {0, 0, 0.5F, 0.5F, 0.25F, 0.25F, 2, 2});
  const ValueId boxes = builder.add("Add", {corners, none}, {}, "boxes");
  const std::vector<int64_t> classes = {1, 7};
  const ValueId labels = builder.add(
      "Identity",
      {builder.constant("classes",
                        Tensor::of<int64_t>(Shape{1, 2}, std::span<const int64_t>(classes)))},
      {}, "labels");
  const ValueId scores =
      builder.add("Add", {constant("certain", Shape{1, 2}, {0.75F, 0.25F}), none}, {}, "scores");
  graph.set_outputs({boxes, labels, scores});
  return graph;
}

TEST_F(PicturesTest, GetTheBoxesOfADetector) {
  onnx_io::ExportOptions options;
  options.metadata = {{onnx_io::kClassesKey, "cat\ndog\n"}};
  onnx_io::export_model(quarter_graph(), folder_ / "quarter.onnx", options);
  ModelVersion model(config(), 1, file_source(folder_ / "quarter.onnx"), {gate_, nullptr});
  EXPECT_TRUE(model.network().finds_objects());
  const Json certain = Json::parse(ask(model, "", "").body, "the answer");
  EXPECT_EQ(certain.at("outputs").items()[0].at("data").dump(-1), "[0,0,32,32]");
  EXPECT_EQ(certain.at("outputs").items()[1].at("data").dump(-1), "[\"dog\"]");
  EXPECT_EQ(certain.at("outputs").items()[2].at("data").dump(-1), "[0.75]");
  const Json all = Json::parse(ask(model, "", "threshold=0.2").body, "the answer");
  EXPECT_EQ(all.at("outputs").items()[0].at("shape").dump(-1), "[2,4]");
  EXPECT_EQ(all.at("outputs").items()[0].at("data").items()[6].as_number(), 64);  // cut off
  EXPECT_EQ(all.at("outputs").items()[1].at("data").dump(-1), "[\"dog\",\"class 7\"]");
  const HttpResponse drawn = ask(model, "image/png", "");
  EXPECT_NE(data::decode_image(drawn.body, "the answer").pixels,
            data::decode_image(picture(), "the picture").pixels);
  EXPECT_NE(error_of([] { read_question({}, "", "threshold=2"); }).find("from 0 to 1"),
            std::string::npos);
}

TEST_F(PicturesTest, OfADetectorArePreparedAsItsFileSays) {
  onnx_io::export_model(quarter_graph(), folder_ / "quarter.onnx", {});
  NetworkSource given = file_source(folder_ / "quarter.onnx");
  given.picture.given = true;
  EXPECT_NE(error_of([&] {
              ModelVersion(config(), 1, std::move(given), {gate_, nullptr});
            }).find("leave out `mean`"),
            std::string::npos);
}

TEST_F(PicturesTest, StepsThatDoNotFitAreAReasonNotToLoad) {
  const auto with = [](const std::string& steps, const std::string& shape) {
    return onnx_io::Metadata{{onnx_io::kStepsKey, steps}, {onnx_io::kPictureKey, shape}};
  };
  EXPECT_EQ(load_error(with("normalize:0.5:0.25", "1x2x2")), "");
  EXPECT_NE(load_error(with("normalize:0.5:0.25", "1x3x3")).find("but the input is 1x2x2"),
            std::string::npos);
  EXPECT_NE(load_error(with("nonsense", "1x2x2")).find("nonsense"), std::string::npos);
  EXPECT_NE(load_error(with("normalize:0.5:0.25", "banana")).find("no shape of pictures"),
            std::string::npos);
  EXPECT_NE(load_error(with("normalize:0.5:0.25", "1x999999x999999")).find("pixels"),
            std::string::npos);
}

// A file may say that it takes rows of a table and take nothing.
TEST(Rows, NetworksWithoutInputsTakeNone) {
  NetworkSource source;
  source.build = [](const onnx_io::ImportOptions&) {
    Graph graph("constant");
    ops::Builder builder(graph);
    const std::vector<float> numbers = {1, 2};
    const ValueId number =
        builder.constant("number", Tensor::of<float>(Shape{2}, std::span<const float>(numbers)));
    graph.set_outputs({builder.add("Identity", {number}, {}, "OUT")});
    return graph;
  };
  source.table = data::TableSchema{.columns = {{.name = "a"}}, .target = {.name = "y"}};
  ModelConfig config;
  config.name = "constant";
  const Network network(std::move(source), config, 1);
  EXPECT_FALSE(is_rows_body("a\n1\n", network));
  InferRequest request;
  request.inputs.push_back({.name = "a", .dtype = {}, .shape = {}});
  encode_cells(network, request);
  EXPECT_EQ(request.inputs.size(), 1U);
}

}  // namespace
}  // namespace trainyard::serve
