#include "train/network_timing.h"

#include <gtest/gtest.h>

#include "engine/device/device_list.h"
#include "models/zoo/model.h"

namespace trainyard::measure {
namespace {

TEST(MeasureNetwork, WithoutADeviceThereIsNothingBeside) {
  const Measured measured = measure_inference(models::build_model("lenet5", {}), {.runs = 3});
  EXPECT_EQ(measured.timing.runs, 3);
  EXPECT_FALSE(measured.processor);
}

TEST(MeasureNetwork, ADeviceAndTheProcessorRunInTurns) {
  const device::DeviceList list = device::list_devices();
  if (!list.opencl_missing.empty()) GTEST_SKIP() << list.opencl_missing;
  const Measured measured = measure_inference(models::build_model("lenet5", {}),
                                              {.runs = 7, .device = device::open_device("opencl")});
  ASSERT_TRUE(measured.processor);
  const HostTimes& processor = *measured.processor;
  EXPECT_EQ(measured.timing.runs, 7);
  EXPECT_EQ(processor.timing.runs, 7);
  EXPECT_EQ(processor.turns, 5);
  EXPECT_DOUBLE_EQ(processor.times_slower, measured.timing.median_s / processor.timing.median_s);
  EXPECT_LE(processor.least, processor.most);
  // The steps that are explained are the device's.
  size_t on_device = 0;
  for (const runtime::StepInfo& step : measured.executable.steps()) {
    on_device += static_cast<size_t>(step.kernel.starts_with("device"));
  }
  EXPECT_GT(on_device, 0U);
}

}  // namespace
}  // namespace trainyard::measure
