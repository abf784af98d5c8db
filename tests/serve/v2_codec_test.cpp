#include "serve/protocol/v2_codec.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/error.h"
#include "http/status.h"
#include "serve/fixture.h"

namespace trainyard::serve {
namespace {

Body body_of(std::string text) {
  return Body(std::move(text));
}

InferRequest read(const std::string& json) {
  return read_v2_request(body_of(json), std::nullopt);
}

std::string with_input(const std::string& fields) {
  return "{\"inputs\":[{" + fields + "}]}";
}

std::span<const float> floats_of(const InferRequest& request) {
  const InputTensor& input = request.inputs[0];
  return {reinterpret_cast<const float*>(input.data), input.bytes / sizeof(float)};
}

TEST(V2Read, TakesFlatAndNestedDataInAnyOrder) {
  for (const char* fields :
       {R"("name":"x","datatype":"FP32","shape":[2,2],"data":[1,2,3,4.5])",
        R"("name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2],[3,4.5]])",
        R"("data":[[1,2],[3,4.5]],"shape":[2,2],"datatype":"FP32","name":"x","unknown":[{}])"}) {
    const InferRequest request = read(with_input(fields));
    ASSERT_EQ(request.inputs.size(), 1U);
    EXPECT_EQ(request.inputs[0].name, "x");
    EXPECT_EQ(request.inputs[0].shape, (std::vector<int64_t>{2, 2}));
    const auto values = floats_of(request);
    EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
              (std::vector<float>{1, 2, 3, 4.5F}));
  }
}

TEST(V2Read, TakesEveryType) {
  for (const char* type : {"FP64", "FP16", "BF16", "INT8", "INT16", "INT32", "INT64", "UINT8",
                           "UINT16", "UINT32", "UINT64", "BOOL"}) {
    const InferRequest request = read(
        with_input(fmt::format(R"("name":"x","datatype":"{}","shape":[2],"data":[1,0])", type)));
    EXPECT_EQ(protocol_name(*request.inputs[0].dtype), type);
  }
  const InferRequest texts =
      read(with_input(R"("name":"x","datatype":"BYTES","shape":[2],"data":["a","b"])"));
  EXPECT_EQ(texts.inputs[0].texts, (std::vector<std::string>{"a", "b"}));
}

TEST(V2Read, NamesWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {
      {"{}", "no field 'inputs'"},
      {with_input(R"("datatype":"FP32","shape":[1],"data":[1])"), "inputs[0] has no 'name'"},
      {with_input(R"("name":"x","shape":[1],"data":[1])"), "'x' has no 'datatype'"},
      {with_input(R"("name":"x","datatype":"FP32","data":[1])"), "'x' has no 'shape'"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[1])"), "'x' has no 'data'"},
      {with_input(R"("name":"x","datatype":"FP23","shape":[1],"data":[1])"), "Did you mean FP32"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[-1],"data":[1])"), "negative"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[3],"data":[1,2])"),
       "data has 2 elements, shape [3] needs 3"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[1],"data":[1,2])"),
       "more than the 1 elements"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[2,2],"data":[[1,2,3],[4]])"),
       "3 items at depth 2"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[2],"data":[[1,2]])"),
       "2 items at depth 2"},
      {with_input(R"("name":"x","datatype":"INT8","shape":[1],"data":[300])"), "does not fit"},
      {with_input(R"("name":"x","datatype":"INT8","shape":[1],"data":[300])"), "input 'x'"},
      {with_input(R"("name":"x","datatype":"INT32","shape":[1],"data":[1.5])"), "input 'x'"},
      {with_input(R"("name":"x","datatype":"INT32","shape":[1],"data":[1.5])"), "whole number"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[1],"data":[NaN])"), "no NaN"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[1],"data":["1"])"), "expected a"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[9999999999,9999999999],"data":[1])"),
       "exceed maximum size"},
      {with_input(R"("name":"x","datatype":"FP32","shape":[1000000000],"data":[1])"),
       "more elements than its data"},
      // Otherwise one number would pass for 784.
      {with_input(R"("name":"x","datatype":"FP32","shape":[1],"data":[0],"shape":[784])"),
       "a second 'shape'"},
      {with_input(R"("name":"x","datatype":"INT8","shape":[1],"data":[0],"datatype":"FP64")"),
       "a second 'datatype'"},
      {R"({"inputs":[],"parameters":{"timeout":-1}})", "timeout"},
      {R"({"inputs":[],"parameters":7})", "parameters"},
      {"[1]", "expected an object"},
  };
  for (const auto& [json, expected] : cases) {
    const std::string error = error_of([&, &text = json] { read(text); });
    EXPECT_NE(error.find(expected), std::string::npos) << json << " gave " << error;
  }
}

TEST(V2Read, TakesBinaryTensors) {
  const std::string json =
      with_input(R"("name":"x","datatype":"FP32","shape":[2],"parameters":{"binary_data_size":8})");
  const float numbers[] = {1.5F, -2.0F};
  std::string body = json;
  body.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  const InferRequest request = read_v2_request(body_of(body), json.size());
  EXPECT_EQ(floats_of(request)[1], -2.0F);
  EXPECT_NE(
      error_of([&] { read_v2_request(body_of(body + "z"), json.size()); }).find("1 bytes follow"),
      std::string::npos);
  body.pop_back();
  EXPECT_NE(
      error_of([&] { read_v2_request(body_of(body), json.size()); }).find("only 7 bytes are left"),
      std::string::npos);
  EXPECT_NE(error_of([&] {
              read_v2_request(body_of(body), body.size() + 1);
            }).find("Inference-Header-Content-Length"),
            std::string::npos);
}

TEST(V2Read, SplitsBinaryTexts) {
  const std::string json = with_input(
      R"("name":"x","datatype":"BYTES","shape":[2],"parameters":{"binary_data_size":11})");
  const std::string body = json + std::string("\x02\0\0\0ab\x01\0\0\0c", 11);
  EXPECT_EQ(read_v2_request(body_of(body), json.size()).inputs[0].texts,
            (std::vector<std::string>{"ab", "c"}));
  const std::string lies = json + std::string(
                                      "\x02\0\0\0ab\xff\xff\xff\xff"
                                      "c",
                                      11);
  EXPECT_NE(error_of([&] { read_v2_request(body_of(lies), json.size()); }).find("only 1 are left"),
            std::string::npos);
}

TEST(V2Read, TakesRawBodies) {
  const std::vector<TensorSpec> specs = {{"x", DType::kF32, {-1, 2}}};
  const InferRequest request = read_v2_raw(body_of(std::string(8, '\0')), specs, false);
  EXPECT_EQ(request.inputs[0].shape, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(request.all_binary);
  EXPECT_NE(
      error_of([&] { read_v2_raw(body_of("abc"), specs, false); }).find("expected 8 bytes, got 3"),
      std::string::npos);
  const std::vector<TensorSpec> open = {{"x", DType::kI32, {-1, -1}}};
  EXPECT_EQ(read_v2_raw(body_of(std::string(12, '\0')), open, false).inputs[0].shape,
            (std::vector<int64_t>{1, 3}));
}

InferResult result_of(std::vector<float> values) {
  InferResult result;
  const auto classes = static_cast<int64_t>(values.size());
  result.model = "m";
  result.version = "3";
  result.outputs.push_back(
      {"y", Tensor::of<float>(Shape{1, classes}, std::span<const float>(values))});
  return result;
}

TEST(V2Write, WritesJson) {
  InferRequest request;
  request.id = "a\"b";
  request.parameters["k"] = 1;
  const V2Response response =
      write_v2_response(request, result_of({0.5F, std::numeric_limits<float>::quiet_NaN()}), {});
  EXPECT_EQ(response.json_bytes, 0U);
  EXPECT_EQ(response.body,
            R"({"model_name":"m","model_version":"3","id":"a\"b","parameters":{"k":1},)"
            R"("outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"data":[0.5,null]}]})");
}

TEST(V2Write, WritesBytesAfterTheJson) {
  InferRequest request;
  request.outputs = {{.name = "y", .binary = true}};
  const V2Response response = write_v2_response(request, result_of({1, 2}), {});
  ASSERT_EQ(response.body.size(), response.json_bytes + 8);
  float second = 0;
  std::memcpy(&second, response.body.data() + response.json_bytes + 4, 4);
  EXPECT_EQ(second, 2);
  EXPECT_NE(response.body.find("\"binary_data_size\":8"), std::string::npos);
}

TEST(V2Write, NamesTheBestClasses) {
  InferRequest request;
  request.outputs = {{.name = "y", .classes = 2}};
  const std::vector<std::string> labels = {"cat", "dog"};
  const V2Response response = write_v2_response(request, result_of({0.25F, 0.5F, 0.125F}), labels);
  EXPECT_NE(response.body.find(
                R"("datatype":"BYTES","shape":[1,2],"data":["0.500000:1:dog","0.250000:0:cat"])"),
            std::string::npos)
      << response.body;
  request.outputs[0].name = "z";
  EXPECT_NE(error_of([&] { write_v2_response(request, result_of({1}), {}); }).find("no output 'z'"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::serve
