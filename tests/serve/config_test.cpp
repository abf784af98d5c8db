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
      read_config(parse_text_proto(kText, "config.pbtxt"), {}, "config.pbtxt");
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
    return error_of([&] { read_config(parse_text_proto(text, "c"), {}, "c"); });
  };
  EXPECT_EQ(problem("max_batch_size: \"many\""),
            "c: field 'max_batch_size': the text: expected a value, found 'm' (JSON has no NaN, "
            "Infinity or comments) at byte 0");
  EXPECT_EQ(problem("dynamic_batching { max_queue_delay_microseconds: -1 }"),
            "c: field 'dynamic_batching.max_queue_delay_microseconds' is -1, expected 0 or more");
  EXPECT_NE(problem("input { name: \"a\" data_type: TYPE_FP33 }").find("FP33"), std::string::npos);
  EXPECT_EQ(problem("name: \"a\"\nname"), "c:2: the text ends too early");
  EXPECT_NE(problem("name: \"a").find("a quote that does not end"), std::string::npos);
  EXPECT_NE(problem("a { b [").find("too early"), std::string::npos);
  std::string deep;
  for (int i = 0; i < 10'000; ++i) deep += "a {";
  EXPECT_NE(problem(deep).find("nested too deep"), std::string::npos);
}

TEST(ModelConfig, KeepsLabelsInTheFolder) {
  for (const std::string file : {"/etc/passwd", "../other/labels.txt", "a/../../b"}) {
    const std::string text =
        "output { name: \"y\" data_type: TYPE_FP32 label_filename: \"" + file + "\" }";
    EXPECT_EQ(error_of([&] { read_config(parse_text_proto(text, "c"), {}, "c"); }),
              "c: label_filename is '" + file + "', expected a file in the model's folder");
  }
}

TEST(ModelConfig, ReplacesListsOfTheDefaults) {
  ModelConfig defaults;
  defaults.versions.listed = {3};
  defaults.warm_ups.push_back({.name = "old"});
  const auto read = [&](const std::string& text) {
    return read_config(parse_text_proto(text, "c"), defaults, "c");
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
