#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/device_list.h"
#include "engine/device/opencl_devices.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {
namespace {

TEST(OpenCl, SaysWhatIsMissingExactlyIfThereIsNoDevice) {
  EXPECT_EQ(opencl_devices().empty(), !opencl_missing().empty());
}

TEST(OpenCl, EveryLaunchOfEveryOperationIsRightInEveryMemory) {
  const std::vector<OpenClDevice> devices = opencl_devices();
  if (devices.empty()) GTEST_SKIP() << opencl_missing();
  for (const OpenClDevice& device : devices) {
    const auto target = make_device_target(open_opencl(device));
    for (const VectorOp op : kVectorOps) {
      for (const auto& [memory, sharing] : target->memories()) {
        for (const std::string& launch : target->launches(op)) {
          for (const int64_t elements : {1, 257, 100'003}) {
            const VectorTiming timing = target->run({op, elements, launch, memory, sharing}, 0);
            EXPECT_TRUE(timing.verified) << device.info.name << " " << vector_op_name(op) << " "
                                         << memory << sharing << " " << launch << " " << elements;
            EXPECT_GE(timing.first_kernel_s, 0);
          }
        }
      }
    }
  }
}

class OpenClRun : public testing::Test {
 protected:
  void SetUp() override {
    if (opencl_devices().empty()) GTEST_SKIP() << opencl_missing();
    device_ = open_device("opencl");
  }
  std::shared_ptr<Device> device_;
};

TEST_F(OpenClRun, ATextThatDoesNotBuildShowsTheLog) {
  try {
    device_->build("__kernel void broken(__global float* x) { x[0] = nowhere; }");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("nowhere"), std::string::npos) << failure.what();
  }
}

TEST_F(OpenClRun, AnAddressWithinABufferIsAPlaceInIt) {
  const auto buffer = device_->allocate(8 * sizeof(float), Sharing::kNone);
  const float values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  device_->write(buffer->address(), values, sizeof(values));
  const float other = 50;
  device_->write(buffer->address() + 4 * sizeof(float), &other, sizeof(other));
  float found[2] = {};
  device_->read(found, buffer->address() + 3 * sizeof(float), sizeof(found));
  EXPECT_EQ(found[0], 4);
  EXPECT_EQ(found[1], 50);
}

TEST_F(OpenClRun, FreedBuffersAreNoPlaces) {
  auto buffer = device_->allocate(64, Sharing::kNone);
  std::byte* address = buffer->address();
  buffer.reset();
  const float value = 1;
  EXPECT_THROW(device_->write(address, &value, sizeof(value)), InternalError);
}

}  // namespace
}  // namespace trainyard::device
