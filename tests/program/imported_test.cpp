// Models of files that leave dimensions open, or do not end.
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include "base/file.h"
#include "base/json.h"
#include "data/image.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"
#include "tensor/npy.h"

namespace trainyard::cli {
namespace {

class Imported : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // A model of opset 17 in ONNX's text form.
  std::string model(const std::string& graph) const { return written(parsed(graph)); }

  static onnx::ModelProto parsed(const std::string& graph) {
    const std::string text = R"(<ir_version: 8, opset_import: ["" : 17]>)" + graph;
    onnx::ModelProto proto;
    const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
    EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
    return proto;
  }

  std::string written(const onnx::ModelProto& proto) const {
    write_file(path("model.onnx"), proto.SerializeAsString());
    return path("model.onnx");
  }

  // A model with as many outputs, each the input times its number from 1 on.
  std::string model_with_outputs(const std::vector<std::string>& names) const {
    onnx::ModelProto proto = parsed("g (float[2] x) => (float[2] y) { y = Identity(x) }");
    onnx::GraphProto& graph = *proto.mutable_graph();
    const onnx::ValueInfoProto output = graph.output(0);
    graph.clear_node();
    graph.clear_output();
    for (const std::string& name : names) {
      onnx::NodeProto& node = *graph.add_node();
      node.set_op_type("Sum");
      for (int i = 0; i < graph.node_size(); ++i) node.add_input("x");
      node.add_output(name);
      *graph.add_output() = output;
      graph.mutable_output(graph.output_size() - 1)->set_name(name);
    }
    return written(proto);
  }

  std::string picture(int64_t height, int64_t width) const {
    data::Image image{height, width, {}};
    image.pixels.assign(static_cast<size_t>(height * width * data::kColors), 255);
    write_file(path("photo.png"), data::encode_png(image));
    return path("photo.png");
  }

  std::string array(const std::string& name, const Shape& shape) const {
    write_npy(path(name), Tensor::zeros({DType::kF32, shape}));
    return path(name);
  }

  TemporaryFolder folder_{"imported"};
};

std::string type_of_output(const Outcome& outcome) {
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  if (outcome.code != 0) return "";
  return Json::parse(outcome.out, "stdout").at("outputs").items().at(0).at("type").as_string();
}

constexpr const char* kAnyPicture = "g (float[N,3,H,W] x) => (float[N,3,H,W] y) { y = Relu(x) }";
constexpr const char* kAnyLength =
    "g (float[N,L] a, float[N,L] b) => (float[N,L] y) { y = Add(a, b) }";

TEST_F(Imported, APictureBringsItsSize) {
  const std::string file = model(kAnyPicture);
  const std::string photo = picture(20, 37);
  EXPECT_EQ(type_of_output(run({"run", file, "--input", photo, "--json"})), "f32[1,3,20,37]");
  EXPECT_EQ(type_of_output(run({"run", file, "--input", photo, "--resize", "10", "--json"})),
            "f32[1,3,10,19]");
  EXPECT_EQ(type_of_output(run({"run", file, "--input", photo, "--shape", "x=1,3,8,8", "--json"})),
            "f32[1,3,8,8]");
}

TEST_F(Imported, AWholePictureIsKeptPixelByPixel) {
  const std::string file = model(kAnyPicture);
  data::Image image{1, 2, {255, 0, 51, 102, 153, 204}};
  write_file(path("photo.png"), data::encode_png(image));
  ASSERT_EQ(run({"run", file, "--input", path("photo.png"), "--mean", "0,0,0", "--std", "1,1,1",
                 "--output", path("out")})
                .code,
            0);
  const Tensor y = read_npy(path("out/y.npy"));
  const std::vector<float> expected = {1.0F, 0.4F, 0.0F, 0.6F, 0.2F, 0.8F};
  ASSERT_EQ(y.shape(), (Shape{1, 3, 1, 2}));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(y.values<float>()[i], expected[i], 1e-6) << i;
  }
}

TEST_F(Imported, AFixedHeightKeepsThePicturesProportion) {
  const std::string file = model("g (float[N,3,48,W] x) => (float[N,3,48,W] y) { y = Relu(x) }");
  EXPECT_EQ(type_of_output(run({"run", file, "--input", picture(24, 100), "--json"})),
            "f32[1,3,48,200]");
}

TEST_F(Imported, AnArrayBindsSymbolsOfAllInputs) {
  const std::string file = model(kAnyLength);
  const std::string given = "a=" + array("a.npy", {5, 7});
  EXPECT_EQ(type_of_output(run({"run", file, "--input", given, "--json"})), "f32[5,7]");
  const Outcome clash =
      run({"run", file, "--input", given, "--input", "b=" + array("b.npy", {5, 8})});
  EXPECT_EQ(clash.code, 2);
  EXPECT_NE(clash.err.find("'L' is bound to 7 and to 8"), std::string::npos) << clash.err;
  const Outcome batch = run({"run", file, "--input", given, "--batch", "2"});
  EXPECT_EQ(batch.code, 2);
  EXPECT_NE(batch.err.find("f32[5,7], expected f32[2,7]"), std::string::npos) << batch.err;
  const Outcome rank = run({"run", file, "--input", "a=" + array("c.npy", {5})});
  EXPECT_EQ(rank.code, 2);
  EXPECT_NE(rank.err.find("'a' has 2 dimensions"), std::string::npos) << rank.err;
}

TEST_F(Imported, WithoutAFileOpenDimensionsAreAskedFor) {
  const Outcome outcome = run({"run", model(kAnyPicture)});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("give shape x=N,3,H,W"), std::string::npos) << outcome.err;
}

TEST_F(Imported, ALoopMayTakeAsManyRoundsAsAllowed) {
  const std::string file = model(R"(g (float[1] x) => (float[1] y) {
    most = Constant <value_int = 100> ()
    number = Constant <value_int = 1> ()
    go = Cast <to = 9> (number)
    y = Loop <body = b (int64 i, bool c, float[1] v) => (bool d, float[1] w) {
      d = Identity(c)
      w = Neg(v)
    }> (most, go, x)
  })");
  for (const std::string command : {"run", "bench"}) {
    EXPECT_EQ(run({command, file, "--max-iterations", "101"}).code, 0);
    const Outcome outcome = run({command, file, "--max-iterations", "50"});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("have not ended after 50 rounds"), std::string::npos) << outcome.err;
    EXPECT_EQ(run({command, file, "--max-iterations", "0"}).code, 2);
  }
}

TEST_F(Imported, EachOutputHasAFileOfItsOwn) {
  const std::vector<std::string> names = {
      "a/b", "a_b", "a\\b", "a_b-2", std::string(300, 'n'), std::string(301, 'n')};
  const std::string file = model_with_outputs(names);
  Tensor ones(DType::kF32, {2});
  ones.values<float>()[0] = ones.values<float>()[1] = 1;
  write_npy(path("x.npy"), ones);
  const Outcome outcome =
      run({"run", file, "--input", path("x.npy"), "--output", path("out"), "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json files = Json::parse(outcome.out, "run").at("files");
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor written = read_npy(files.at(names[i]).as_string());
    EXPECT_EQ(written.values<float>()[0], static_cast<float>(i + 1)) << names[i];
  }
  EXPECT_EQ(files.at("a_b").as_string(), path("out/a_b.npy"));
  const Outcome words = run({"run", file, "--output", path("out")});
  EXPECT_NE(words.out.find("output a/b is in " + path("out/a_b-3.npy")), std::string::npos)
      << words.out;
}

TEST_F(Imported, OneNumberARowIsNoClass) {
  const std::string file = model("g (float[N,1] x) => (float[N,1] y) { y = Neg(x) }");
  const Outcome outcome = run({"run", file, "--batch", "8"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find("class"), std::string::npos) << outcome.out;
}

TEST_F(Imported, SaysWhoseClassesAreShown) {
  const std::string file = model("g (float[N,4] x) => (float[N,4] y) { y = Neg(x) }");
  const auto words = [&](const char* batch) { return run({"run", file, "--batch", batch}).out; };
  EXPECT_NE(words("2").find("the best classes of row 1 of 2"), std::string::npos) << words("2");
  EXPECT_EQ(words("1").find("of row 1"), std::string::npos) << words("1");
}

// A last normalization goes into the convolution before it.
constexpr const char* kNormalized = R"(g (float[N,1,H,W] x) => (float[N,2,P,Q] result)
  <float[2,1,3,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 8, 7, 6, 5, 4, 3, 2, 1},
   float[2] scale = {1, 2}, float[2] bias = {0, 1}, float[2] mean = {0, 1}, float[2] var = {1, 2}> {
    y = Conv(x, w)
    result = BatchNormalization(y, scale, bias, mean, var)
  })";

TEST_F(Imported, QuantizeTakesShapesAndKeepsTheNamesOfOutputs) {
  const std::string file = model(kNormalized);
  const std::vector<std::string> words = {"quantize", file, "-o", path("int8.onnx"), "--time", "0"};
  const Outcome open = run(words);
  EXPECT_EQ(open.code, 2);
  EXPECT_NE(open.err.find("give shape x=N,1,H,W"), std::string::npos) << open.err;
  std::vector<std::string> shaped = words;
  shaped.insert(shaped.end(), {"--shape", "x=1,1,8,8"});
  const Outcome done = run(shaped);
  ASSERT_EQ(done.code, 0) << done.err;
  const Outcome ran = run({"run", path("int8.onnx"), "--json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const Json output = Json::parse(ran.out, "run").at("outputs").items().at(0);
  EXPECT_EQ(output.at("name").as_string(), "result");
  EXPECT_EQ(output.at("type").as_string(), "f32[1,2,6,6]");
}

TEST_F(Imported, ExportLeavesTheBatchOpen) {
  for (const std::string network : {"lenet5", "resnet20-cifar"}) {
    const Outcome written = run({"export", network, "--open-batch", "-o", path("open.onnx")});
    ASSERT_EQ(written.code, 0) << written.err;
    EXPECT_EQ(type_of_output(run({"run", path("open.onnx"), "--batch", "5", "--json"})),
              "f32[5,10]");
  }
  const std::string mixes = model(
      "g (float[1,4] x) => (float[1,4] y) <int64[2] s = {4, 1}>"
      "{ z = Reshape(x, s) y = Transpose(z) }");
  const Outcome refused = run({"export", mixes, "--open-batch", "-o", path("mixed.onnx")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("does not take any batch"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path("mixed.onnx")));
}

// A line is a picture of height 1: the same time.
TEST_F(Imported, PredictTakesConvolutionsOverLines) {
  const auto step = [&](const std::string& cost_model, const std::string& graph) {
    const Outcome outcome = run({"predict", model(graph), "--device", "v100", "--batch", "8",
                                 "--cost-model", cost_model, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    if (outcome.code != 0) return 0.0;
    return Json::parse(outcome.out, "predict").at("rows").items()[0].at("step_ms").as_number();
  };
  for (const std::string cost_model : {"trainyard", "paleo"}) {
    const double line = step(cost_model, R"(g (float[1,2,64] x) => (float[1,1,62] y)
      <float[1,2,3] w = {1, 2, 3, 4, 5, 6}> { y = Conv(x, w) })");
    const double picture = step(cost_model, R"(g (float[1,2,1,64] x) => (float[1,1,1,62] y)
      <float[1,2,1,3] w = {1, 2, 3, 4, 5, 6}> { y = Conv(x, w) })");
    EXPECT_GT(line, 0) << cost_model;
    EXPECT_DOUBLE_EQ(line, picture) << cost_model;
  }
}

TEST_F(Imported, TrainingAFileOfOtherClassesNamesTransfer) {
  ASSERT_EQ(run({"export", "lenet5", "-o", path("ten.onnx")}).code, 0);
  const Outcome refused =
      run({"train", "--model", path("ten.onnx"), "--data", "synthetic:1x28x28,classes=4,size=16",
           "--runs-dir", path("runs"), "--quiet"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("'transfer' gives it a new one"), std::string::npos) << refused.err;
}

TEST_F(Imported, NamesThatAreNotTextAreStillJson) {
  const std::string file = model_with_outputs({"y\xff", "z\xc3\xa9"});
  for (const std::string command : {"run", "analyze", "bench"}) {
    const Outcome outcome = run({command, file, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NO_THROW(Json::parse(outcome.out, command)) << outcome.out;
  }
  const Json outputs = Json::parse(run({"run", file, "--json"}).out, "run").at("outputs");
  EXPECT_EQ(outputs.items()[0].at("name").as_string(), "y\\xff");
  EXPECT_EQ(outputs.items()[1].at("name").as_string(), "z\xc3\xa9");
}

}  // namespace
}  // namespace trainyard::cli
