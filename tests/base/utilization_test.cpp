#include "base/utilization.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Utilization, IsAShareOfAllProcessors) {
  const UsageCounters before{.process_s = 10, .machine_s = 100, .read_bytes = 5};
  const UsageCounters after{
      .process_s = 11, .machine_s = 103, .read_bytes = 2005, .written_bytes = 500};
  const Utilization usage = usage_between(before, after, 2, 2);
  EXPECT_DOUBLE_EQ(usage.process, 0.25);
  EXPECT_DOUBLE_EQ(usage.machine, 0.75);
  EXPECT_DOUBLE_EQ(usage.read_per_s, 1000);
  EXPECT_DOUBLE_EQ(usage.written_per_s, 250);
}

TEST(Utilization, ReadsTheLinesOfNvidiaSmi) {
  const auto shares = parse_gpu_line("87, 41");
  ASSERT_TRUE(shares.has_value());
  EXPECT_DOUBLE_EQ(shares->first, 0.87);
  EXPECT_DOUBLE_EQ(shares->second, 0.41);
  EXPECT_FALSE(parse_gpu_line("[N/A], [N/A]").has_value());
  EXPECT_FALSE(parse_gpu_line("").has_value());
  EXPECT_FALSE(parse_gpu_line("87").has_value());
}

TEST(Utilization, SamplesWorkOfThisProcess) {
  UtilizationSampler sampler;
  // A sample is due after a second, and comes later where others have the processors.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  uint64_t spun = 0;
  std::vector<Utilization> samples;
  while (samples.empty() && std::chrono::steady_clock::now() < end) {
    if (++spun % 1024 == 0) samples = sampler.take();
  }
  ASSERT_FALSE(samples.empty());
  EXPECT_GT(samples[0].process, 0) << spun;
  EXPECT_GT(samples[0].memory_bytes, 1e6);
  EXPECT_TRUE(sampler.take().empty());
}

}  // namespace
}  // namespace trainyard
