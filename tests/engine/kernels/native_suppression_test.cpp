// Suppression with vectors keeps the boxes that the reference keeps, in its order.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vision/suppression.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Suppression : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_has_avx2_fma()) GTEST_SKIP() << "the processor lacks AVX2 or FMA";
  }

  float uniform(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }

  // Corners in any order, a few thousandths of `scale` to its half wide.
  Tensor boxes(int64_t batch, int64_t count, float scale) {
    Tensor made(DType::kF32, Shape{batch, count, 4});
    float* to = made.view().as<float>();
    for (int64_t i = 0; i < batch * count; ++i, to += 4) {
      for (int axis = 0; axis < 2; ++axis) {
        const float from = uniform(-0.2F, 1);
        const float side = std::exp(uniform(-6, -0.7F));
        const bool swapped = uniform(0, 1) < 0.3F;
        to[axis] = scale * (swapped ? from + side : from);
        to[axis + 2] = scale * (swapped ? from : from + side);
      }
    }
    return made;
  }

  // Rounded to steps, so that many are equal.
  Tensor scores(int64_t batch, int64_t classes, int64_t count, float steps) {
    Tensor made(DType::kF32, Shape{batch, classes, count});
    for (float& score : made.values<float>()) {
      score = std::round(uniform(-0.5F, 1) * steps) / steps;
    }
    return made;
  }

  static size_t expect_same(const Tensor& boxes, const Tensor& scores,
                            const ops::SuppressionRules& rules) {
    const auto expected = ops::select_boxes(boxes.view(), scores.view(), rules);
    EXPECT_EQ(suppress_boxes(boxes.view(), scores.view(), rules), expected);
    return expected.size();
  }

  std::mt19937 random_{7};
};

TEST_F(Suppression, KeepsWhatTheReferenceKeeps) {
  size_t kept = 0;
  for (const int64_t count : {0, 1, 7, 8, 9, 255, 256, 700}) {
    for (const float steps : {10.0F, 1e6F}) {
      const Tensor some = boxes(2, count, 1);
      const Tensor of_classes = scores(2, 3, count, steps);
      for (const double overlap : {0.1, 0.45, 0.9}) {
        for (const int64_t most : {0, 1, 20, 100'000}) {
          kept += expect_same(some, of_classes, {most, overlap, 0.25, true, false});
          kept += expect_same(some, of_classes, {most, overlap, 0, false, false});
        }
      }
    }
  }
  EXPECT_GT(kept, 10'000U);
}

TEST_F(Suppression, TellsBoxesApartAtTheThreshold) {
  // Squares of 100 that are moved by whole numbers: the overlap is (100 - d) / (100 + d).
  Tensor made(DType::kF32, Shape{1, 60, 4});
  for (int64_t i = 0; i < 60; ++i) {
    const auto at = static_cast<float>(i);
    float* to = made.view().as<float>() + 4 * i;
    to[0] = 0;
    to[1] = at;
    to[2] = 100;
    to[3] = at + 100;
  }
  const Tensor of_class = scores(1, 4, 60, 1e6F);
  for (int d = 1; d < 60; ++d) {
    const double overlap = (100.0 - d) / (100.0 + d);
    for (const double share : {overlap, std::nextafter(overlap, 0.0), std::nextafter(overlap, 1.0),
                               static_cast<double>(static_cast<float>(overlap))}) {
      expect_same(made, of_class, {60, share, 0, false, false});
    }
  }
}

TEST_F(Suppression, AgreesOnBoxesThatVectorsCannotCompare) {
  const Tensor of_classes = scores(1, 3, 300, 1e6F);
  for (const float scale : {1e-20F, 1e-10F, 1e10F, 1e18F, 1e36F}) {
    expect_same(boxes(1, 300, scale), of_classes, {300, 0.3, 0, false, false});
  }
  Tensor strange = boxes(1, 300, 1);
  const std::vector<float> odd = {kInfinity, -kInfinity, std::nanf(""), 0.0F, -0.0F, 3e38F};
  const std::span<float> numbers = strange.values<float>();
  for (size_t i = 0; i < numbers.size(); i += 5) numbers[i] = odd[i / 5 % odd.size()];
  for (size_t i = 0; i < 40; ++i) numbers[20 * i] = numbers[20 * i + 2];  // no area
  for (const double share : {-1.0, 0.0, 1e-9, 0.3, 1.0, 1e9, std::nan("")}) {
    expect_same(strange, of_classes, {300, share, 0, false, false});
    expect_same(strange, of_classes, {300, share, 0, false, true});
  }
}

TEST_F(Suppression, OrdersStrangeScores) {
  const Tensor some = boxes(1, 400, 1);
  Tensor of_class = scores(1, 1, 400, 4);
  const std::span<float> values = of_class.values<float>();
  for (size_t i = 0; i < values.size(); i += 7) values[i] = i % 2 == 0 ? -0.0F : 0.0F;
  values[5] = kInfinity;
  values[6] = -kInfinity;
  values[8] = 1e-42F;
  expect_same(some, of_class, {400, 0.5, 0, false, false});
  values[9] = std::nanf("");
  expect_same(some, of_class, {400, 0.5, 0, true, false});
}

TEST_F(Suppression, ThreadsShareTheClasses) {
  const Tensor some = boxes(1, 500, 1);
  const Tensor of_classes = scores(1, 5, 500, 1e6F);
  const int before = threads();
  for (const int count : {1, 2, 3, 8}) {
    set_threads(count);
    expect_same(some, of_classes, {50, 0.45, 0.1, true, false});
  }
  set_threads(before);
}

}  // namespace
}  // namespace trainyard::kernels::native
