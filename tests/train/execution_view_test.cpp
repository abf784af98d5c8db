#include "train/execution_view.h"

#include <gtest/gtest.h>

namespace trainyard::cli {
namespace {

// Other programs that run while the peak is measured make it too low.
TEST(ExecutionView, TheHigherPeakCounts) {
  const runtime::MachinePeak busy{
      .gflops_one_thread = 10, .gflops = 15, .int8_gops = 90, .memory_gb_per_s = 4};
  const runtime::MachinePeak idle{
      .gflops_one_thread = 20, .gflops = 40, .int8_gops = 80, .memory_gb_per_s = 8};
  const runtime::MachinePeak both = higher_of(busy, idle);
  EXPECT_EQ(both.gflops_one_thread, 20);
  EXPECT_EQ(both.gflops, 40);
  EXPECT_EQ(both.int8_gops, 90);
  EXPECT_EQ(both.memory_gb_per_s, 8);
}

TEST(ExecutionView, MoreThanThePeakIsExplained) {
  EXPECT_EQ(above_peak_note(0.93), "");
  EXPECT_NE(above_peak_note(3.088).find("other programs ran"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::cli
