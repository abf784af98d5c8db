#include "tensor/tensor.h"

#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard {
namespace {

TEST(Shape, BroadcastsAsNumPy) {
  EXPECT_EQ(broadcast_shapes({2, 1, 4}, {3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast_shapes({}, {5}), (Shape{5}));
  EXPECT_EQ(broadcast_shapes({0, 3}, {1, 3}), (Shape{0, 3}));
  EXPECT_THROW(broadcast_shapes({2}, {3}), Error);
  EXPECT_EQ(broadcast_strides({3, 1}, {2, 3, 4}), (std::vector<int64_t>{0, 1, 0}));
}

TEST(Shape, RefusesToOverflow) {
  EXPECT_THROW((void)(Shape{int64_t{1} << 40, int64_t{1} << 40}).num_elements(), Error);
  EXPECT_THROW((void)(Shape{0, int64_t{1} << 40, int64_t{1} << 40}).strides(), Error);
  EXPECT_THROW((void)(TensorType{DType::kF64, {int64_t{1} << 61}}).num_bytes(), Error);
}

TEST(Shape, PrintsForPeople) {
  EXPECT_EQ((Shape{1, 3, Shape::kUnknown}).to_string(), "1x3x?");
  EXPECT_EQ(Shape{}.to_string(), "scalar");
  EXPECT_EQ((TensorType{DType::kF32, {1, 3}}).to_string(), "f32[1,3]");
}

TEST(DType, HalfPrecisionRoundTripsEveryValue) {
  for (uint32_t bits = 0; bits < 0x10000U; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = f16_to_f32(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(f32_to_f16(value), half) << bits;
    ASSERT_EQ(f32_to_bf16(bf16_to_f32(half)), half) << bits;
  }
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7c00);  // rounds to infinity
  EXPECT_EQ(f32_to_f16(65519.0F), 0x7bff);
}

TEST(Tensor, CastConvertsAndClamps) {
  const Tensor x = Tensor::of<float>({4}, std::array{1.5F, -2.5F, 300.0F, std::nanf("")});
  const Tensor y = cast(x, DType::kI8);
  EXPECT_EQ(to_ints(y), (std::vector<int64_t>{1, -2, 127, 0}));
  EXPECT_EQ(to_ints(cast(x, DType::kBool)), (std::vector<int64_t>{1, 1, 1, 1}));
}

TEST(Tensor, CopyStridedTransposes) {
  const Tensor x = Tensor::of<int32_t>({2, 3}, std::array{1, 2, 3, 4, 5, 6});
  Tensor y(DType::kI32, {3, 2});
  copy_strided(y.shape().dims(), 4, x.data(), std::array{int64_t{1}, int64_t{3}}, y.data(),
               y.shape().strides());
  EXPECT_EQ(to_ints(y), (std::vector<int64_t>{1, 4, 2, 5, 3, 6}));
}

TEST(Tensor, MemoryIsAlignedAndSharedByReshape) {
  Tensor x = Tensor::zeros({DType::kF32, {2, 3}});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data()) % Tensor::kAlignment, 0U);
  const Tensor view = x.reshaped({6});
  x.values<float>()[5] = 7.0F;
  EXPECT_EQ(view.values<float>()[5], 7.0F);
}

}  // namespace
}  // namespace trainyard
