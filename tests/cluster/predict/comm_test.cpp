#include "cluster/predict/comm/comm.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "dist/collective_plan.h"

namespace trainyard::predict {
namespace {

constexpr double kMegabyte = 1e6;

Topology one_host(int64_t workers) {
  return {.workers = workers, .per_host = 8, .inside = {10e9, 0}, .between = {1e9, 0}};
}

double seconds(std::string_view name, const Topology& topology, double bytes) {
  return find_comm_model(name).cost(topology, bytes).seconds;
}

TEST(CollectivePlan, CountsStepsAndShares) {
  EXPECT_EQ(dist::ring_plan(8).steps, 14);
  EXPECT_DOUBLE_EQ(dist::ring_plan(8).share, 1.75);
  EXPECT_EQ(dist::tree_plan(5).steps, 6);
  EXPECT_DOUBLE_EQ(dist::parameter_server_plan(8, 2).share, 8);
  EXPECT_DOUBLE_EQ(dist::parameter_server_plan(2, 8).share, 2);
}

// 6 steps and 1.75 of the message for 8 members; 6 members fold two into partners first.
TEST(Comm, ButterflyInsideOneHostHalvesAndDoubles) {
  EXPECT_DOUBLE_EQ(seconds("butterfly", one_host(8), kMegabyte), 1.75 * kMegabyte / 10e9);
  EXPECT_DOUBLE_EQ(seconds("butterfly", one_host(6), kMegabyte), 3.5 * kMegabyte / 10e9);
  Topology slow = one_host(8);
  slow.inside.latency_s = 1;
  EXPECT_DOUBLE_EQ(seconds("butterfly", slow, 0), 6);
}

TEST(Comm, OneWorkerCostsNothing) {
  for (const CommModel* model : all_comm_models()) {
    EXPECT_EQ(model->cost(one_host(1), kMegabyte).seconds, 0) << model->name;
  }
}

TEST(Comm, RingInsideOneHostMovesTwiceTheMessageLessOneShare) {
  EXPECT_DOUBLE_EQ(seconds("ring", one_host(4), kMegabyte), 1.5 * kMegabyte / 10e9);
  EXPECT_DOUBLE_EQ(seconds("butterfly", one_host(4), kMegabyte), 1.5 * kMegabyte / 10e9);
  EXPECT_DOUBLE_EQ(seconds("tree", one_host(4), kMegabyte), 4 * kMegabyte / 10e9);
  EXPECT_DOUBLE_EQ(seconds("reduce-broadcast", one_host(4), kMegabyte), 6 * kMegabyte / 10e9);
  EXPECT_DOUBLE_EQ(seconds("central", one_host(4), kMegabyte), 8 * kMegabyte / 10e9);
}

TEST(Comm, HierarchicalUsesTheNetworkOncePerHost) {
  const Topology topology{.workers = 16, .per_host = 4, .inside = {10e9, 0}, .between = {1e9, 0}};
  const double inside = 2 * 0.75 * kMegabyte / 10e9;
  const double between = 2 * 0.75 * kMegabyte / 1e9;
  EXPECT_DOUBLE_EQ(seconds("hierarchical", topology, kMegabyte), inside + between);
  // Near partners first: 1/2 and 1/4 inside, then 4 members share the link for 1/8 and 1/16.
  EXPECT_DOUBLE_EQ(seconds("butterfly", topology, kMegabyte), inside + between);
  EXPECT_GT(seconds("ring", topology, kMegabyte), seconds("hierarchical", topology, kMegabyte));
  EXPECT_DOUBLE_EQ(seconds("ps", topology, kMegabyte), inside + 2 * 0.75 * kMegabyte / 1e9);
}

TEST(Comm, LatencyFavorsFewSteps) {
  const Topology topology{
      .workers = 64, .per_host = 1, .inside = {10e9, 1e-6}, .between = {1e9, 50e-6}};
  EXPECT_EQ(resolve_comm_model(find_comm_model("auto"), topology, 100).name, "butterfly");
  EXPECT_LT(seconds("butterfly", topology, 100), seconds("ring", topology, 100));
  EXPECT_DOUBLE_EQ(seconds("auto", topology, 100), seconds("butterfly", topology, 100));
  // Servers would be faster still, but somebody has to run them: auto leaves them to a request.
  EXPECT_LT(seconds("ps", topology, 100), seconds("auto", topology, 100));
}

TEST(Comm, FewServersAreTheBottleneck) {
  Topology topology{.workers = 8, .per_host = 1, .inside = {10e9, 0}, .between = {1e9, 0}};
  topology.servers = 1;
  EXPECT_DOUBLE_EQ(seconds("ps", topology, kMegabyte), 16 * kMegabyte / 1e9);
  topology.servers = 8;
  EXPECT_DOUBLE_EQ(seconds("ps", topology, kMegabyte), 2 * kMegabyte / 1e9);
}

TEST(Comm, BandwidthsFollowTheirDefinitions) {
  const Topology topology = one_host(8);
  const CommCost cost = find_comm_model("ring").cost(topology, kMegabyte);
  EXPECT_DOUBLE_EQ(bus_bandwidth(kMegabyte, 8, cost), 10e9);
  EXPECT_DOUBLE_EQ(algorithm_bandwidth(kMegabyte, cost), 10e9 / 1.75);
  EXPECT_DOUBLE_EQ(utilization(kMegabyte, topology, cost), 1.0);
}

TEST(Comm, NoAllReduceUsesMoreThanItsLinks) {
  for (const int64_t workers : {2, 8, 16, 24, 64}) {
    for (const double between : {1e9, 400e9}) {
      const Topology topology{
          .workers = workers, .per_host = 8, .inside = {300e9, 1e-6}, .between = {between, 3e-6}};
      for (const CommModel* model : all_comm_models()) {
        const double used = utilization(kMegabyte, topology, model->cost(topology, kMegabyte));
        EXPECT_GT(used, 0) << model->name;
        EXPECT_LE(used, 1 + 1e-12) << model->name << " of " << workers;
      }
    }
  }
}

TEST(Comm, UnknownNamesGetTheNearest) {
  try {
    find_comm_model("rings");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("Did you mean ring"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainyard::predict
