#include "tensor/narrow.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace trainyard {
namespace {

constexpr DType kNarrow[] = {DType::kF8E4M3, DType::kF8E4M3UZ, DType::kF8E5M2, DType::kF8E5M2UZ,
                             DType::kF8E8M0, DType::kF4E2M1,   DType::kI4,     DType::kU4,
                             DType::kI2,     DType::kU2};

TEST(Narrow, EveryNumberComesBack) {
  for (const DType dtype : kNarrow) {
    for (int bits = 0; bits < 1 << narrow_bits(dtype); ++bits) {
      const float value = narrow_to_f32(dtype, static_cast<uint8_t>(bits));
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(f32_to_narrow(dtype, value), bits) << dtype_name(dtype) << " " << value;
    }
  }
}

TEST(Narrow, KnowsItsLargestNumbers) {
  const float huge = 1e9F;
  EXPECT_EQ(narrow_to_f32(DType::kF8E4M3, f32_to_narrow(DType::kF8E4M3, huge)), 448);
  EXPECT_EQ(narrow_to_f32(DType::kF8E4M3UZ, f32_to_narrow(DType::kF8E4M3UZ, huge)), 240);
  EXPECT_EQ(narrow_to_f32(DType::kF8E5M2, f32_to_narrow(DType::kF8E5M2, -huge)), -57344);
  EXPECT_EQ(narrow_to_f32(DType::kF4E2M1, f32_to_narrow(DType::kF4E2M1, huge)), 6);
}

TEST(Narrow, LeavesItsRangeOnlyWhenAskedTo) {
  NarrowRule rule;
  rule.saturate = false;
  const float huge = 1e9F;
  EXPECT_TRUE(std::isnan(narrow_to_f32(DType::kF8E4M3, f32_to_narrow(DType::kF8E4M3, huge, rule))));
  EXPECT_EQ(narrow_to_f32(DType::kF8E5M2, f32_to_narrow(DType::kF8E5M2, huge, rule)),
            std::numeric_limits<float>::infinity());
}

TEST(Narrow, RoundsToEvenAndScalesUp) {
  // 17 lies between 16 and 18: even mantissa 16.
  EXPECT_EQ(narrow_to_f32(DType::kF8E4M3, f32_to_narrow(DType::kF8E4M3, 17)), 16);
  EXPECT_EQ(narrow_to_f32(DType::kF8E8M0, f32_to_narrow(DType::kF8E8M0, 3)), 4);
  NarrowRule down;
  down.round = NarrowRule::Round::kDown;
  EXPECT_EQ(narrow_to_f32(DType::kF8E8M0, f32_to_narrow(DType::kF8E8M0, 3, down)), 2);
}

TEST(Narrow, PacksTheFirstElementLow) {
  const uint8_t elements[] = {1, 15, 7};
  uint8_t packed[2] = {};
  EXPECT_EQ(packed_bytes(DType::kU4, 3), 2);
  pack_narrow(DType::kU4, elements, packed);
  EXPECT_EQ(packed[0], 0xf1);
  EXPECT_EQ(packed[1], 0x07);
  uint8_t back[3] = {};
  unpack_narrow(DType::kU4, packed, back);
  EXPECT_EQ(back[1], 15);
  EXPECT_EQ(packed_bytes(DType::kI2, 5), 2);
}

}  // namespace
}  // namespace trainyard
