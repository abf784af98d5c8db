#include "serve/protocol/shared_memory.h"

#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "http/status.h"
#include "serve/fixture.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {
namespace {

// An object of shm_open() as a client makes it, removed in the end.
class ClientMemory {
 public:
  explicit ClientMemory(size_t bytes) : key_(fmt::format("/trainyard_test_{}", getpid())) {
    file_ = shm_open(key_.c_str(), O_CREAT | O_RDWR, 0600);
    EXPECT_GE(file_, 0);
    resize(bytes);
  }
  ~ClientMemory() {
    close(file_);
    shm_unlink(key_.c_str());
  }
  void resize(size_t bytes) const { EXPECT_EQ(ftruncate(file_, static_cast<off_t>(bytes)), 0); }
  void put(const std::vector<float>& values, off_t at) const {
    const auto bytes = static_cast<ssize_t>(values.size() * sizeof(float));
    EXPECT_EQ(pwrite(file_, values.data(), values.size() * sizeof(float), at), bytes);
  }
  std::vector<float> get(size_t count, off_t at) const {
    std::vector<float> values(count);
    EXPECT_EQ(pread(file_, values.data(), count * sizeof(float), at),
              static_cast<ssize_t>(count * sizeof(float)));
    return values;
  }
  off_t size() const { return lseek(file_, 0, SEEK_END); }
  const std::string& key() const { return key_; }

 private:
  std::string key_;
  int file_ = -1;
};

Json region_of(const std::string& key, int64_t offset, int64_t bytes) {
  return Json::object({{"key", key}, {"offset", offset}, {"byte_size", bytes}});
}

std::string request_for(std::string_view input, std::string_view output = "{}") {
  return fmt::format(R"({{"inputs":[{{"name":"x","datatype":"FP32","shape":[2],"parameters":{}}}],)"
                     R"("outputs":[{{"name":"y","parameters":{}}}]}})",
                     input, output);
}

InferRequest read_with(const SharedMemory* memory, const std::string& json) {
  return read_v2_request(Body(std::string(json)), std::nullopt, nullptr, memory);
}

TEST(SharedMemory, HoldsTensorsOfRequestsAndAnswers) {
  const ClientMemory client(64);
  client.put({3, 4}, 24);
  SharedMemory memory;
  memory.add("r", region_of(client.key(), 16, 48));
  const InferRequest request = read_with(
      &memory,
      request_for(
          R"({"shared_memory_region":"r","shared_memory_offset":8,"shared_memory_byte_size":8})",
          R"({"shared_memory_region":"r","shared_memory_offset":16,"shared_memory_byte_size":8})"));
  float values[2];
  ASSERT_EQ(request.inputs[0].bytes, sizeof values);
  std::memcpy(values, request.inputs[0].data, sizeof values);
  EXPECT_EQ(values[0], 3);
  EXPECT_EQ(values[1], 4);
  const std::vector<float> answer = {5, 6};
  InferResult result;
  result.model = "m";
  result.version = "1";
  result.outputs.push_back({"y", Tensor::of<float>(Shape{2}, answer)});
  const V2Response response = write_v2_response(request, result, {});
  EXPECT_EQ(client.get(2, 32), answer);
  EXPECT_EQ(response.json_bytes, 0U);
  const Json json = Json::parse(response.body, "the answer");
  EXPECT_EQ(json.at("outputs").items()[0].find("data"), nullptr);
  EXPECT_EQ(
      json.at("outputs").items()[0].at("parameters").dump(-1),
      R"({"shared_memory_region":"r","shared_memory_offset":16,"shared_memory_byte_size":8})");
}

TEST(SharedMemory, RefusesWhatDoesNotFit) {
  const ClientMemory client(64);
  SharedMemory memory;
  memory.add("r", region_of(client.key(), 0, 64));
  const auto problem = [&](const std::string& input, const std::string& output = "{}") {
    return error_of([&] { read_with(&memory, request_for(input, output)); });
  };
  EXPECT_NE(problem(R"({"shared_memory_region":"q","shared_memory_byte_size":8})").find("'q'"),
            std::string::npos);
  EXPECT_NE(problem(R"({"shared_memory_region":"r"})").find("byte_size"), std::string::npos);
  EXPECT_NE(problem(R"({"shared_memory_region":"r","shared_memory_byte_size":12})").find("got 12"),
            std::string::npos);
  EXPECT_NE(problem(R"({"shared_memory_region":"r","shared_memory_offset":60,)"
                    R"("shared_memory_byte_size":8})")
                .find("exceed"),
            std::string::npos);
  // Sums that wrap around are no way out of a region.
  EXPECT_NE(problem(R"({"shared_memory_region":"r","shared_memory_offset":9223372036854775807,)"
                    R"("shared_memory_byte_size":9223372036854775807})")
                .find("exceed"),
            std::string::npos);
  EXPECT_NE(problem(R"({"shared_memory_region":"r","shared_memory_byte_size":-8})").find("-8"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              read_with(nullptr, request_for(R"({"shared_memory_region":"r",)"
                                             R"("shared_memory_byte_size":8})"));
            }).find("switched off"),
            std::string::npos);
}

TEST(SharedMemory, RefusesRegionsThatAreNotThere) {
  const ClientMemory client(64);
  SharedMemory memory;
  const auto problem = [&](const Json& region) {
    return error_of([&] { memory.add("r", region); });
  };
  EXPECT_NE(problem(region_of("/trainyard_nobody", 0, 8)).find("Unable to open"),
            std::string::npos);
  for (const char* key : {"", "/", "..", "/..", "/../etc/passwd", "a/b"}) {
    EXPECT_NE(problem(region_of(key, 0, 8)).find("no name of shared memory"), std::string::npos)
        << key;
  }
  EXPECT_NE(problem(region_of(client.key(), 0, 65)).find("exceed"), std::string::npos);
  EXPECT_NE(problem(region_of(client.key(), -1, 8)).find("-1"), std::string::npos);
  EXPECT_EQ(problem(region_of(client.key(), 0, 64)), "");
  EXPECT_NE(problem(region_of(client.key(), 0, 64)).find("already"), std::string::npos);
  EXPECT_EQ(memory.status("").items().size(), 1U);
  EXPECT_NE(error_of([&] { memory.status("q"); }).find("'q'"), std::string::npos);
  memory.remove("");
  EXPECT_EQ(memory.status("").items().size(), 0U);
}

// Reading or writing behind the new end would be a signal with mapped memory, or make it longer.
TEST(SharedMemory, SurvivesAClientThatMakesItShorter) {
  const ClientMemory client(64);
  const SharedRegion region(client.key(), 0, 64);
  client.resize(4);
  std::byte bytes[8] = {};
  EXPECT_NE(error_of([&] { region.read(0, bytes); }).find("shorter"), std::string::npos);
  EXPECT_NE(error_of([&] { region.write(0, bytes); }).find("shorter"), std::string::npos);
  EXPECT_EQ(client.size(), 4);
}

}  // namespace
}  // namespace trainyard::serve
