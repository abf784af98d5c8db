#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "serve/fixture.h"
#include "serve/models/model_config.h"
#include "support/temporary_folder.h"

namespace trainyard::serve {
namespace {

constexpr std::string_view kText = R"(
# a comment
name: "simple"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16, -1 ] }
]
output { name: "OUTPUT0"; data_type: TYPE_FP32; dims: 16 label_filename: "labels.txt" }
dynamic_batching {
  preferred_batch_size: [ 4, 8 ]
  max_queue_delay_microseconds: 100
  default_queue_policy { max_queue_size: 7 default_timeout_microseconds: 5000 }
}
instance_group [ { count: 2 kind: KIND_CPU } ]
version_policy: { specific { versions: [ 1, 3 ] } }
model_warmup { name: "w" batch_size: 4 count: 3 }
parameters { key: "x" value { string_value: "y" } }
)";

TEST(ModelConfig, ReadsTritonsFields) {
  const ModelConfig config =
      read_config(parse_text_config(kText, "config.pbtxt").tree, {}, "config.pbtxt");
  EXPECT_EQ(config.name, "simple");
  EXPECT_EQ(config.max_batch, 8);
  ASSERT_EQ(config.inputs.size(), 2U);
  EXPECT_EQ(config.inputs[1].dims, (std::vector<int64_t>{16, -1}));
  EXPECT_EQ(config.outputs[0].dtype, DType::kF32);
  EXPECT_EQ(config.label_file, "labels.txt");
  EXPECT_EQ(config.preferred_batches, (std::vector<int64_t>{4, 8}));
  EXPECT_EQ(config.max_delay.count(), 100);
  EXPECT_EQ(config.max_queue, 7);
  EXPECT_EQ(config.default_timeout->count(), 5000);
  EXPECT_EQ(config.instances, 2);
  EXPECT_EQ(config.versions.listed, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(config.warm_ups.at(0).count, 3);
  EXPECT_EQ(config.ignored, (std::vector<std::string>{"parameters"}));
}

TEST(ModelConfig, SaysWhichFieldIsWrong) {
  const auto problem = [](const std::string& text) {
    return error_of([&] { read_config(parse_text_config(text, "c").tree, {}, "c"); });
  };
  EXPECT_NE(problem("max_batch_size: \"many\"").find("c:1:17: Expected integer"),
            std::string::npos);
  EXPECT_NE(
      problem("name: \"a\"\ndynamic_batching { max_queue_delay_microseconds: -1 }").find("c:2:"),
      std::string::npos);
  EXPECT_NE(problem("input { name: \"a\" data_type: TYPE_FP33 }").find("TYPE_FP33"),
            std::string::npos);
  EXPECT_EQ(problem("input { name: \"a\" data_type: TYPE_FP32 dims: -2 }"),
            "c: field 'input.dims' is -2, expected -1 or more");
  EXPECT_NE(problem("name: \"a\"\nname").find("c:2:"), std::string::npos);
  EXPECT_NE(problem("name: \"a").find("c:1:"), std::string::npos);
  EXPECT_NE(problem("input { name [").find("c:1:"), std::string::npos);
  EXPECT_NE(
      problem("input { name: \"a\" data_type: TYPE_FP32 dims: [ 2 ] reshape { shape: [ 3 ] } }")
          .find("dims [2] and reshape [3]"),
      std::string::npos);
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "a {";
  EXPECT_NE(problem(deep).find("too deep"), std::string::npos);
}

TEST(ModelConfig, KeepsEveryFieldForClients) {
  const std::string text = R"(
    input { name: "data" data_type: TYPE_FP32 format: FORMAT_NCHW dims: [ 3, 8, 8 ]
            reshape { shape: [ 1, 3, 8, 8 ] } }
    output { name: "y" data_type: TYPE_STRING dims: 4 label_filename: "labels.txt" }
    sequence_batching { max_sequence_idle_microseconds: 5000000 }
    parameters { key: "x" value { string_value: "y" } }
    no_such_field: 1
  )";
  const TextConfig read = parse_text_config(text, "c");
  ASSERT_EQ(read.unknown.size(), 1U);
  EXPECT_NE(read.unknown[0].find("no_such_field"), std::string::npos);
  const ModelConfig config = read_config(read.tree, {}, "c");
  EXPECT_EQ(config.inputs[0].dims, (std::vector<int64_t>{1, 3, 8, 8}));
  EXPECT_EQ(config.inputs[0].client_dims(), (std::vector<int64_t>{3, 8, 8}));
  EXPECT_EQ(config.outputs[0].dtype, DType::kText);
  const Json shown = config_json(config);
  EXPECT_EQ(shown.at("input").items()[0].dump(-1),
            R"({"name":"data","data_type":"TYPE_FP32","format":"FORMAT_NCHW","dims":[3,8,8],)"
            R"("reshape":{"shape":[1,3,8,8]}})");
  EXPECT_EQ(shown.at("output").items()[0].at("label_filename").as_string(), "labels.txt");
  EXPECT_EQ(shown.at("sequence_batching").at("max_sequence_idle_microseconds").as_int(), 5000000);
  EXPECT_EQ(shown.at("parameters").at("x").at("string_value").as_string(), "y");
}

TEST(ModelConfig, KeepsLabelsInTheFolder) {
  for (const std::string file : {"/etc/passwd", "../other/labels.txt", "a/../../b"}) {
    const std::string text =
        "output { name: \"y\" data_type: TYPE_FP32 label_filename: \"" + file + "\" }";
    EXPECT_EQ(error_of([&] { read_config(parse_text_config(text, "c").tree, {}, "c"); }),
              "c: label_filename is '" + file + "', expected a file in the model's folder");
  }
}

TEST(ModelConfig, ReplacesListsOfTheDefaults) {
  ModelConfig defaults;
  defaults.versions.listed = {3};
  defaults.warm_ups.push_back({.name = "old"});
  const auto read = [&](const std::string& text) {
    return read_config(parse_text_config(text, "c").tree, defaults, "c");
  };
  EXPECT_TRUE(read("version_policy { latest { num_versions: 2 } }").versions.listed.empty());
  EXPECT_EQ(read("version_policy { specific { versions: 7 } }").versions.listed,
            (std::vector<int64_t>{7}));
  EXPECT_EQ(read("model_warmup { name: \"new\" }").warm_ups.size(), 1U);
  EXPECT_EQ(read("name: \"a\"").warm_ups.size(), 1U);
}

TEST(ModelConfig, ReadsYamlAsWell) {
  const TemporaryFolder folder("serve_config");
  std::filesystem::create_directories(folder / "digits");
  write_file(folder / "digits" / "config.yaml",
             "max_batch_size: 4\ndynamic_batching: {max_queue_delay_microseconds: 50}\n");
  const ModelConfig config = load_config(folder / "digits", {});
  EXPECT_EQ(config.name, "digits");
  EXPECT_EQ(config.max_batch, 4);
  EXPECT_EQ(config.max_delay.count(), 50);
}

}  // namespace
}  // namespace trainyard::serve
