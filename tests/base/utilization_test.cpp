#include "base/utilization.h"

#include <chrono>
#include <sstream>
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

TEST(Utilization, AddsUpTheNetworkWithoutTheWayBack) {
  std::istringstream text(
      "Inter-|   Receive                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
      "    lo: 900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0\n"
      "  eth0: 100 1 0 0 0 0 0 0 30 2 0 0 0 0 0 0\n"
      "  halo:5 1 0 0 0 0 0 0 7 2 0 0 0 0 0 0\n"
      "  eth1: cut\n");
  UsageCounters counters;
  count_network(text, counters);
  EXPECT_EQ(counters.received_bytes, 105);
  EXPECT_EQ(counters.sent_bytes, 37);
}

TEST(Utilization, WritesWhatGpusSay) {
  Utilization sample;
  EXPECT_EQ(to_json(sample).find("gpu"), nullptr);
  sample.gpus = {
      {.busy = 0.5, .memory_busy = 0.25, .memory_bytes = 1e9, .power_w = 100, .temperature_c = 60},
      {.busy = 1, .memory_busy = 0.75, .memory_bytes = 2e9, .temperature_c = 70}};
  const Json line = to_json(sample);
  EXPECT_EQ(line.at("gpu").as_number(), 0.75);
  EXPECT_EQ(line.at("gpu_memory").as_number(), 0.5);
  EXPECT_EQ(line.at("gpu_memory_bytes").as_number(), 3e9);
  EXPECT_EQ(line.at("gpu_power_w").as_number(), 100);
  EXPECT_EQ(line.at("gpu_temperature_c").as_number(), 70);
  EXPECT_EQ(line.at("gpu1").as_number(), 1);
}

TEST(GpuMeter, IsEmptyWithoutADriver) {
  EXPECT_TRUE(GpuMeter("libno-such-driver.so.1").read().empty());
}

// A driver that is there may be of no use: the library of its functions lacks some, or there is no
// GPU behind it.
TEST(GpuMeter, AsksTheDriver) {
  const GpuMeter meter(TY_FAKE_NVML);
  const std::vector<GpuSample> first = meter.read();
  ASSERT_EQ(first.size(), 2U);  // the third GPU of the fake does not answer
  EXPECT_DOUBLE_EQ(first[0].busy, 0.87);
  EXPECT_DOUBLE_EQ(first[0].memory_busy, 0.41);
  EXPECT_DOUBLE_EQ(first[0].memory_bytes, 6e9);
  EXPECT_DOUBLE_EQ(first[0].memory_share, 0.75);
  EXPECT_DOUBLE_EQ(first[0].power_w, 250);
  EXPECT_DOUBLE_EQ(first[0].temperature_c, 64);
  EXPECT_DOUBLE_EQ(first[1].busy, 0.12);
  EXPECT_TRUE(GpuMeter("libm.so.6").read().empty());  // a library, but no driver
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
