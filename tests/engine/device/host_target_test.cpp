#include <atomic>

#include <gtest/gtest.h>

#include "base/error.h"
#include "engine/device/thread_team.h"
#include "engine/device/vector_target.h"

namespace trainyard::device {
namespace {

TEST(ThreadTeam, EveryMemberWorksOnceInEveryRound) {
  ThreadTeam team(3);
  std::atomic<int> calls = 0;
  std::atomic<int> members = 0;
  for (int round = 0; round < 100; ++round) {
    team.run([&](int member) {
      ++calls;
      members += member;
    });
  }
  EXPECT_EQ(calls, 300);
  EXPECT_EQ(members, 300);
}

TEST(HostTarget, EveryLoopOfEveryOperationIsRightAtAnyLength) {
  const auto host = make_host_target();
  for (const VectorOp op : kVectorOps) {
    for (const std::string& launch : host->launches(op)) {
      for (const int64_t elements : {1, 3, 16, 1023, 1024, 5000, 100'003}) {
        const VectorTiming timing = host->run({op, elements, launch, "host"}, 0);
        EXPECT_TRUE(timing.verified) << vector_op_name(op) << " " << launch << " " << elements;
        EXPECT_EQ(timing.kernel_s.size(), 1U);
      }
    }
  }
}

TEST(HostTarget, ASumStreamsNothing) {
  const auto host = make_host_target();
  EXPECT_EQ(host->launches(VectorOp::kDot).size(), 3U);
  EXPECT_EQ(host->launches(VectorOp::kAdd).size(), 4U);
}

TEST(VectorRow, SpreadIsBetweenTheQuartiles) {
  VectorRow row;
  row.timing.kernel_s = {1};
  EXPECT_EQ(row.kernel_spread_s(), 0);
  row.timing.kernel_s = {5, 1, 2, 100, 3, 4, 2, 3};
  EXPECT_EQ(row.kernel_median_s(), 3);
  EXPECT_EQ(row.kernel_spread_s(), 2);
}

TEST(FindVectorTargets, ListsThoseThereAre) {
  EXPECT_EQ(find_vector_targets("cpu").size(), 1U);
  try {
    find_vector_targets("abacus");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("there are cpu"), std::string::npos) << error.what();
  }
}

TEST(Verification, FindsOneWrongElement) {
  std::vector<float> z(100);
  for (size_t i = 0; i < z.size(); ++i) {
    z[i] = vector_x(static_cast<int64_t>(i)) + vector_y(static_cast<int64_t>(i));
  }
  EXPECT_TRUE(vector_verified(VectorOp::kAdd, z.data(), 100));
  EXPECT_FALSE(vector_verified(VectorOp::kTriad, z.data(), 100));
  z[99] += 0.5F;
  EXPECT_FALSE(vector_verified(VectorOp::kAdd, z.data(), 100));
  EXPECT_FALSE(vector_sum_verified(1.0, 100));
}

// A device whose elements take a known time.
class SlowTarget final : public VectorTarget {
 public:
  const std::string& name() const override { return name_; }
  std::vector<std::string> launches(VectorOp) const override { return {"1x1"}; }
  std::vector<VectorMemory> memories() const override { return {{"copies"}}; }
  bool shares_host_memory() const override { return false; }
  double memory_bytes() const override { return 1e12; }
  VectorTiming run(const VectorCase& what, double) override {
    const double n = static_cast<double>(what.elements);
    return {.to_device_s = n * 1e-9,
            .first_kernel_s = n * 1e-6,
            .kernel_s = {n * 1e-6},
            .verified = true};
  }

 private:
  std::string name_ = "slow";
};

TEST(TimeVectorCase, ExtrapolatesWhatDoesNotFitTheLimit) {
  SlowTarget slow;
  const VectorRow row = time_vector_case(slow, {VectorOp::kAdd, 100'000'000, "1x1", "copies"}, 4);
  EXPECT_EQ(row.origin, VectorOrigin::kExtrapolated);
  EXPECT_EQ(row.measured_elements, 1'000'000);
  EXPECT_NEAR(row.kernel_median_s(), 100, 1e-6);
  EXPECT_NEAR(row.timing.to_device_s, 0.1, 1e-9);
  const VectorRow whole = time_vector_case(slow, {VectorOp::kAdd, 900'000, "1x1", "copies"}, 4);
  EXPECT_EQ(whole.origin, VectorOrigin::kMeasured);
}

TEST(TimeVectorCase, RefusesNothingAndTooMuch) {
  SlowTarget slow;
  EXPECT_THROW(time_vector_case(slow, {VectorOp::kAdd, 0, "1x1", "copies"}, 1), Error);
  EXPECT_THROW(time_vector_case(slow, {VectorOp::kAdd, 100'000'000'000, "1x1", "copies"}, 1),
               Error);
}

}  // namespace
}  // namespace trainyard::device
