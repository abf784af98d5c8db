#include <gtest/gtest.h>

#include "device/opencl_devices.h"

namespace trainyard::device {
namespace {

TEST(OpenCl, SaysWhatIsMissingExactlyIfThereIsNoDevice) {
  EXPECT_EQ(opencl_devices().empty(), !opencl_missing().empty());
}

TEST(OpenCl, EveryLaunchOfEveryOperationIsRight) {
  const std::vector<OpenClDevice> devices = opencl_devices();
  if (devices.empty()) GTEST_SKIP() << opencl_missing();
  for (const OpenClDevice& device : devices) {
    const auto target = make_opencl_target(device);
    for (const VectorOp op : kVectorOps) {
      for (const std::string& memory : target->memories()) {
        for (const std::string& launch : target->launches(op)) {
          for (const int64_t elements : {1, 255, 257, 100'003}) {
            const VectorTiming timing = target->run({op, elements, launch, memory}, 0);
            EXPECT_TRUE(timing.verified) << device.name << " " << vector_op_name(op) << " "
                                         << memory << " " << launch << " " << elements;
            EXPECT_GE(timing.first_kernel_s, 0);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trainyard::device
