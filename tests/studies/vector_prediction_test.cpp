#include "studies/calibration/vector_prediction.h"

#include <gtest/gtest.h>

#include "cluster/predict/catalog.h"

namespace trainyard::measure {
namespace {

// M. Harris, "Unified Memory for CUDA Beginners" (NVIDIA, 2017): 2^20 elements added in place. One
// thread of a K80 is where the latency comes from; the rest was not used for the prediction.
TEST(VectorPrediction, IsOfTheOrderOfPublishedTimes) {
  const predict::Catalog catalog = predict::Catalog::load({});
  const auto predicted = [&](const char* device, const char* launch,
                             const char* memory = "unified") {
    return predict_vector_case(catalog.device(device),
                               {device::VectorOp::kAdd, 1 << 20, launch, memory})
        .timing;
  };
  EXPECT_NEAR(predicted("k80", "1x1").first_kernel_s, 463e-3, 0.01 * 463e-3);
  const auto expect_near = [](double ours, double published) {
    EXPECT_GT(ours / published, 0.5);
    EXPECT_LT(ours / published, 2);
  };
  expect_near(predicted("k80", "1x256").first_kernel_s, 2.7e-3);
  expect_near(predicted("k80", "Nx256").first_kernel_s, 94e-6);
  expect_near(predicted("p100", "Nx256", "copies").first_kernel_s, 26.1e-6);
  expect_near(predicted("p100", "Nx256", "copies").to_device_s, 689e-6);
  expect_near(predicted("p100", "Nx256", "copies").from_device_s, 347e-6);
  // By page faults: what their time was taken from.
  const auto faults = predicted("p100", "Nx256");
  EXPECT_NEAR(faults.to_device_s + faults.first_kernel_s, 2.1e-3, 0.1 * 2.1e-3);
  EXPECT_GT(faults.from_device_s, predicted("p100", "Nx256", "copies").from_device_s);
  // A K80 has none: all is moved before the kernel starts.
  EXPECT_DOUBLE_EQ(predicted("k80", "Nx256").to_device_s,
                   predicted("k80", "Nx256", "copies").to_device_s);
}

}  // namespace
}  // namespace trainyard::measure
