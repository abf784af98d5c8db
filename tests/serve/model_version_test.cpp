#include "serve/models/model_version.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <malloc.h>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "http/status.h"
#include "serve/fixture.h"
#include "serve/models/idle_memory.h"

namespace trainyard::serve {
namespace {

ModelConfig named(const std::string& name) {
  ModelConfig config;
  config.name = name;
  return config;
}

class ModelVersionTest : public ::testing::Test {
 protected:
  ComputeGate gate_{2};
  ResponseCache cache_{1 << 20};
};

TEST_F(ModelVersionTest, AnswersWithWhatTheNetworkGives) {
  ModelVersion model(named("sum"), 1, sum_source(), {gate_, nullptr});
  EXPECT_EQ(dims_text(model.network().inputs()[0].dims), "[-1,16]");
  EXPECT_EQ(model.config().max_batch, 8);
  // More rows than a batch has, and a number of them that is no size.
  for (const int64_t rows : {1, 3, 8, 21}) {
    Answer answer;
    InferRequest request = sum_request(rows, 5);
    InferDone done = answer.done();
    ASSERT_TRUE(model.infer(request, done));
    const InferResult result = answer.get();
    ASSERT_EQ(result.outputs.size(), 2U);
    EXPECT_EQ(result.outputs[0].data.shape(), (Shape{rows, 16}));
    for (int64_t i = 0; i < rows * 16; ++i) {
      EXPECT_EQ(element_as_int(result.outputs[0].data, i), 2 * (5 + i));
      EXPECT_EQ(element_as_int(result.outputs[1].data, i), 0);
    }
  }
  const StatisticsSnapshot statistics = model.statistics().snapshot();
  EXPECT_EQ(statistics.success.count, 4U);
  EXPECT_EQ(statistics.inferences, 33U);
}

TEST_F(ModelVersionTest, TypesThatAnswersCannotCarryAreRefused) {
  for (const DType dtype : {DType::kI4, DType::kF8E5M2}) {
    const std::string error = error_of([&] {
      const auto table = [=] { return Tensor::zeros({dtype, Shape{3, 2}}); };
      ModelVersion(named("table"), 1, table_source(table), {gate_, nullptr});
    });
    EXPECT_NE(error.find(fmt::format("'OUT' has elements of type {}, which requests and answers "
                                     "cannot carry",
                                     dtype_name(dtype))),
              std::string::npos)
        << error;
  }
}

TEST_F(ModelVersionTest, PutsRequestsTogetherAndTakesThemApart) {
  ModelConfig config = named("sum");
  config.max_delay = std::chrono::milliseconds(200);
  ModelVersion model(config, 1, sum_source(), {gate_, nullptr});
  std::vector<Answer> answers(4);
  for (int32_t i = 0; i < 4; ++i) {
    InferRequest request = sum_request(2, 100 * i);
    InferDone done = answers[static_cast<size_t>(i)].done();
    ASSERT_TRUE(model.infer(request, done));
  }
  for (int32_t i = 0; i < 4; ++i) {
    const InferResult result = answers[static_cast<size_t>(i)].get();
    EXPECT_EQ(result.batch, 8);
    EXPECT_EQ(element_as_int(result.outputs[0].data, 31), 2 * (100 * i + 31));
  }
  EXPECT_EQ(model.statistics().snapshot().executions, 1U);
}

TEST_F(ModelVersionTest, EndsTheRequestThatIsToBlameAlone) {
  ModelConfig config = named("gather");
  config.max_delay = std::chrono::milliseconds(200);
  config.max_batch = 4;
  ModelVersion model(config, 1, gather_source(), {gate_, nullptr});
  std::vector<Answer> answers(4);
  for (int64_t i = 0; i < 4; ++i) {
    InferRequest request = index_request(i == 2 ? 77 : 1);
    InferDone done = answers[static_cast<size_t>(i)].done();
    ASSERT_TRUE(model.infer(request, done));
  }
  for (size_t i = 0; i < 4; ++i) {
    if (i == 2) {
      EXPECT_NE(error_of([&] { answers[i].get(); }).find("77"), std::string::npos);
    } else {
      EXPECT_EQ(element_as_double(answers[i].get().outputs[0].data, 1), 11);
    }
  }
  EXPECT_EQ(model.statistics().snapshot().fail.count, 1U);
}

TEST_F(ModelVersionTest, RefusesWhatDoesNotFit) {
  ModelVersion model(named("sum"), 1, sum_source(), {gate_, nullptr});
  const auto refusal = [&](auto&& change) {
    InferRequest request = sum_request(1, 0);
    change(request);
    return error_of([&] {
      InferDone done = [](auto) {};
      model.infer(request, done);
    });
  };
  EXPECT_EQ(refusal([](InferRequest& r) { r.inputs[1].dtype = DType::kF32; }),
            "input 'INPUT1': datatype is FP32, expected INT32");
  EXPECT_EQ(refusal([](InferRequest& r) {
              r.inputs[0].shape = {1, 15};
            }),
            "input 'INPUT0': shape is [1,15], expected [-1,16]");
  EXPECT_EQ(refusal([](InferRequest& r) { r.inputs.pop_back(); }),
            "input 'INPUT1' is missing; expected INPUT0, INPUT1, got INPUT0");
  EXPECT_NE(refusal([](InferRequest& r) { r.inputs[1].name = "INPUT2"; }).find("no input 'INPUT2'"),
            std::string::npos);
  EXPECT_NE(refusal([](InferRequest& r) { r.inputs[1].name = "INPUT0"; }).find("given 2 times"),
            std::string::npos);
  EXPECT_NE(refusal([](InferRequest& r) { r.outputs = {{.name = "OUTPUT9"}}; }).find("no output"),
            std::string::npos);
  EXPECT_NE(refusal([](InferRequest& r) { r.inputs[0].dtype = std::nullopt; }).find("BYTES"),
            std::string::npos);
}

TEST_F(ModelVersionTest, AnswersFromTheCache) {
  ModelConfig config = named("sum");
  config.response_cache = true;
  ModelVersion model(config, 1, sum_source(), {gate_, &cache_});
  for (const int32_t first : {1, 1, 2}) {
    Answer answer;
    InferRequest request = sum_request(1, first);
    InferDone done = answer.done();
    model.infer(request, done);
    EXPECT_EQ(element_as_int(answer.get().outputs[0].data, 0), 2 * first);
  }
  EXPECT_EQ(model.statistics().snapshot().cache_hit.count, 1U);
  EXPECT_EQ(model.statistics().snapshot().executions, 2U);
  model.shut_down(Clock::now());
  EXPECT_EQ(cache_.bytes(), 0);
}

TEST_F(ModelVersionTest, ComputesSmallNetworksOnEveryCore) {
  ComputeGate two(2);
  ModelVersion small(named("sum"), 1, sum_source(), {two, nullptr});
  EXPECT_EQ(small.config().instances, 2);
  EXPECT_EQ(small.network().threads(), 1);
  ModelConfig config = named("sum");
  config.instances = 1;
  EXPECT_EQ(ModelVersion(config, 1, sum_source(), {two, nullptr}).config().instances, 1);
}

InferRequest picture_request(int64_t rows, float value) {
  auto pixels = std::make_shared<std::vector<float>>(static_cast<size_t>(rows * 3 * 32 * 32));
  for (size_t i = 0; i < pixels->size(); ++i) {
    (*pixels)[i] = value + static_cast<float>(i % 17) / 17.0F;
  }
  InferRequest request;
  request.inputs.push_back({.name = "image",
                            .dtype = DType::kF32,
                            .shape = {rows, 3, 32, 32},
                            .data = reinterpret_cast<const std::byte*>(pixels->data()),
                            .bytes = pixels->size() * sizeof(float)});
  request.owners.push_back(pixels);
  return request;
}

// By measurement, which other work may disturb; hence several trials.
std::unique_ptr<ModelVersion> spreading_version(ComputeGate& gate) {
  for (int trial = 0; trial < 10; ++trial) {
    auto model = std::make_unique<ModelVersion>(
        named("resnet"), 1, model_source({.model = "resnet20-cifar"}), Shared{gate, nullptr});
    if (model->spreads()) return model;
  }
  return nullptr;
}

TEST_F(ModelVersionTest, SpreadsRequestsOverTheCores) {
  const auto model = spreading_version(gate_);
  ASSERT_NE(model, nullptr);
  EXPECT_EQ(model->config().instances, 1);
  const auto ask = [&](size_t i) {
    Answer answer;
    InferRequest request = picture_request(i % 4 == 3 ? 3 : 1, static_cast<float>(i));
    InferDone done = answer.done();
    EXPECT_TRUE(model->infer(request, done));
    return answer;
  };
  // Each alone, on all cores, and then all at the same time.
  std::vector<InferResult> alone;
  for (size_t i = 0; i < 24; ++i) alone.push_back(ask(i).get());
  std::vector<Answer> answers;
  for (size_t i = 0; i < 24; ++i) answers.push_back(ask(i));
  for (size_t i = 0; i < 24; ++i) {
    const InferResult among_others = answers[i].get();
    const Tensor& scores = among_others.outputs[0].data;
    const Tensor& expected = alone[i].outputs[0].data;
    ASSERT_EQ(scores.shape(), expected.shape());
    for (int64_t at = 0; at < scores.shape().num_elements(); ++at) {
      const double value = element_as_double(expected, at);
      ASSERT_NEAR(element_as_double(scores, at), value, 1e-4 * (1 + std::abs(value)));
    }
  }
  model->shut_down(Clock::now() + std::chrono::seconds(10));
}

TEST_F(ModelVersionTest, SpreadsNothingThatIsToBeComputedTogether) {
  ModelConfig config = named("resnet");
  config.max_delay = std::chrono::microseconds(100);
  const auto spreads = [&](const ModelConfig& how) {
    return ModelVersion(how, 1, model_source({.model = "resnet20-cifar"}), {gate_, nullptr})
        .spreads();
  };
  EXPECT_FALSE(spreads(config));
  config = named("resnet");
  config.instances = 1;
  EXPECT_FALSE(spreads(config));
  config = named("resnet");
  config.preferred_batches = {4};
  EXPECT_FALSE(spreads(config));
}

// The caller computes what is quick, and a worker where a long batch has the cores.
TEST_F(ModelVersionTest, LetsTheCallerComputeWhatIsQuick) {
  ModelVersion model(named("sum"), 1, sum_source(), {gate_, nullptr});
  // A thread of it that begins late would take what is left to the caller.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  for (const bool busy : {false, true}) {
    std::vector<Answer> answers(4);
    for (int32_t i = 0; i < 4; ++i) {
      InferRequest request = sum_request(1, 10 * i);
      InferDone done = answers[static_cast<size_t>(i)].done();
      bool left = false;
      ASSERT_TRUE(model.infer(request, done, &left));
      ASSERT_TRUE(left);
    }
    EXPECT_EQ(model.waiting(), 4);
    std::optional<ComputeGate::Pass> cores;
    if (busy) cores.emplace(gate_, 2);
    model.compute_waiting();
    if (!busy) {
      EXPECT_EQ(model.waiting(), 0);
    }
    cores.reset();
    for (int32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(element_as_int(answers[static_cast<size_t>(i)].get().outputs[0].data, 0), 20 * i);
    }
  }
  // More rows than a batch are for a worker.
  Answer answer;
  InferRequest request = sum_request(21, 5);
  InferDone done = answer.done();
  bool left = false;
  ASSERT_TRUE(model.infer(request, done, &left));
  EXPECT_FALSE(left);
  EXPECT_EQ(element_as_int(answer.get().outputs[0].data, 0), 10);
}

TEST(ComputeGate, LetsNobodyPassWhoWouldWait) {
  ComputeGate gate(2);
  auto one = ComputeGate::Pass::at_once(gate, 1);
  ASSERT_NE(one, nullptr);
  EXPECT_EQ(ComputeGate::Pass::at_once(gate, 2), nullptr);
  const auto other = ComputeGate::Pass::at_once(gate, 1);
  EXPECT_NE(other, nullptr);
  EXPECT_EQ(ComputeGate::Pass::at_once(gate, 1), nullptr);
  one.reset();
  EXPECT_NE(ComputeGate::Pass::at_once(gate, 1), nullptr);
}

TEST(ComputeGate, GivesFewJobsAllCoresAndManyOneEach) {
  ComputeGate gate(3);
  const auto waiting = [](int64_t count) { return [=] { return count; }; };
  {
    const ComputeGate::Pass few(gate, waiting(2));
    EXPECT_TRUE(few.has_all());
    EXPECT_EQ(ComputeGate::Pass::at_once(gate, 1), nullptr);
  }
  std::optional<ComputeGate::Pass> first(std::in_place, gate, waiting(3));
  EXPECT_FALSE(first->has_all());
  std::optional<ComputeGate::Pass> second(std::in_place, gate, waiting(2));
  EXPECT_FALSE(second->has_all());
  second.reset();
  // Another has taken the job.
  EXPECT_FALSE(ComputeGate::Pass(gate, waiting(0)).has_all());
  // One job for two cores that are free: it waits for the third.
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    first.reset();
  });
  const ComputeGate::Pass one(gate, waiting(1));
  EXPECT_TRUE(one.has_all());
  later.join();
}

// kB of the process for which huge pages were asked.
int64_t advised_kilobytes() {
  std::ifstream maps("/proc/self/smaps");
  int64_t sum = 0;
  int64_t size = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.starts_with("Size:")) size = std::stoll(line.substr(5));
    if (line.starts_with("VmFlags:") && line.find(" hg") != std::string::npos) sum += size;
  }
  return sum;
}

// As a context of its own has it.
TEST_F(ModelVersionTest, KeepsLargeArenasInHugePagesAndLeavesNoneBehind) {
  const int64_t before = advised_kilobytes();
  ModelConfig config = named("sum");
  config.max_batch = 65'536;
  config.preferred_batches = {65'536};
  std::optional<ModelVersion> model(std::in_place, config, 1, sum_source(), Shared{gate_, nullptr});
  EXPECT_GE(advised_kilobytes(), before + 4096);  // an output
  model.reset();
  EXPECT_EQ(advised_kilobytes(), before);
}

// Large inputs are read where the request has them, be they aligned or not, and are left alone
// afterwards.
TEST_F(ModelVersionTest, ReadsLargeInputsWhereTheyLie) {
  ModelConfig config = named("sum");
  config.max_batch = 2048;
  config.preferred_batches = {2048};
  ModelVersion model(config, 1, sum_source(), {gate_, nullptr});
  for (const int64_t rows : {2048, 1000, 2048, 4096}) {
    for (const size_t offset : {0, 1, 4}) {
      Answer answer;
      InferRequest request = sum_request(rows, 7);
      for (InputTensor& input : request.inputs) {
        auto moved = std::make_shared<std::vector<std::byte>>(input.bytes + offset);
        std::memcpy(moved->data() + offset, input.data, input.bytes);
        input.data = moved->data() + offset;
        request.owners.push_back(std::move(moved));
      }
      InferDone done = answer.done();
      ASSERT_TRUE(model.infer(request, done));
      const InferResult result = answer.get();
      for (int64_t i = 0; i < rows * 16; ++i) {
        ASSERT_EQ(element_as_int(result.outputs[0].data, i), 2 * (7 + i)) << rows << " " << offset;
      }
    }
  }
}

TEST(IdleMemory, GivesWholePagesBack) {
  std::vector<char> block(1 << 20, 'x');
  forget_pages(block.data(), block.size());
  const auto lost = std::count(block.begin(), block.end(), '\0');
  EXPECT_GT(lost, (1 << 20) - 2 * 65'536);
  std::fill(block.begin(), block.end(), 'y');
  forget_pages(block.data() + 1, 10);
  forget_what_loading_needed();
  EXPECT_EQ(std::count(block.begin(), block.end(), 'y'), 1 << 20);
}

int64_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8));
  }
  return 0;
}

// The heap of another thread ends with blocks that are free, which malloc_trim() alone would keep.
TEST(IdleMemory, GivesTheEndOfAThreadsHeapBack) {
  keep_large_blocks();
  bool other_allocator = false;
  std::thread([&] {
    const size_t used = mallinfo2().uordblks;
    std::vector<std::unique_ptr<char[]>> blocks;
    blocks.reserve(24);
    for (int i = 0; i < 24; ++i) {
      blocks.push_back(std::make_unique<char[]>(1 << 20));
      std::fill_n(blocks.back().get(), 1 << 20, 'x');
    }
    other_allocator = mallinfo2().uordblks < used + (16 << 20);
    blocks.clear();
    if (other_allocator) return;
    const int64_t before = resident_kilobytes();
    give_back_freed_memory();
    EXPECT_LT(resident_kilobytes(), before - (16 << 10));
  }).join();
  if (other_allocator) GTEST_SKIP() << "a sanitizer has an allocator of its own";
}

TEST_F(ModelVersionTest, KeepsTheOrderOfRequests) {
  ModelConfig config = named("sum");
  config.instances = 2;
  config.preserve_order = true;
  config.max_batch = 2;
  ModelVersion model(config, 1, sum_source(), {gate_, nullptr});
  std::mutex mutex;
  std::vector<int> order;
  std::vector<Answer> last(1);
  for (int i = 0; i < 200; ++i) {
    InferRequest request = sum_request(1 + i % 7, 0);
    InferDone done = [&, i, then = last[0].done()](auto value) {
      const std::lock_guard lock(mutex);
      order.push_back(i);
      if (i == 199) then(std::move(value));
    };
    ASSERT_TRUE(model.infer(request, done));
  }
  last[0].get();
  const std::lock_guard lock(mutex);
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(ModelVersionTest, FinishesWhatWaitsWhenItGoes) {
  ModelConfig config = named("sum");
  config.max_delay = std::chrono::seconds(60);
  ModelVersion model(config, 1, sum_source(), {gate_, nullptr});
  Answer answer;
  InferRequest request = sum_request(1, 3);
  InferDone done = answer.done();
  ASSERT_TRUE(model.infer(request, done));
  model.shut_down(Clock::now() + std::chrono::seconds(30));
  EXPECT_EQ(element_as_int(answer.get().outputs[0].data, 0), 6);
  InferRequest late = sum_request(1, 3);
  EXPECT_FALSE(model.infer(late, done));
  EXPECT_EQ(late.inputs.size(), 2U);
}

}  // namespace
}  // namespace trainyard::serve
