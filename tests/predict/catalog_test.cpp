#include "predict/catalog.h"

#include <gtest/gtest.h>

#include "support/error_message.h"

namespace trainyard::predict {
namespace {

TEST(Catalog, BuiltInEntriesAreCompleteAndCited) {
  const Catalog catalog = Catalog::built_in();
  for (const char* id : {"k20", "k20x", "k40", "k80", "k80-board", "titan-x-maxwell", "m40", "m60",
                         "gtx-1080", "gtx-1080-ti", "p100", "v100", "rtx-8000", "t4", "a100", "l4",
                         "h100", "c4.8xlarge", "c5.18xlarge"}) {
    EXPECT_FALSE(catalog.device(id).source.empty()) << id;
  }
  for (const char* id : {"pcie2", "pcie3", "pcie4", "pcie5", "nvlink1", "nvlink4", "1gbe", "10gbe",
                         "20gbe", "25gbe", "100gbe", "infiniband"}) {
    EXPECT_FALSE(catalog.link(id).source.empty()) << id;
  }
  for (const Device& device : catalog.devices()) {
    catalog.link(device.inside);
    EXPECT_FALSE(catalog.default_stack(device).efficiency.empty()) << device.id;
  }
  for (const Price& price : catalog.prices()) {
    catalog.device(price.device);
    EXPECT_EQ(price.date.size(), 10u) << price.instance;
  }
  EXPECT_EQ(catalog.cheapest("k80")->attached, false);
}

TEST(Catalog, HalvesOfTheK80BoardMakeTheBoard) {
  const Catalog catalog = Catalog::built_in();
  EXPECT_DOUBLE_EQ(2 * catalog.device("k80").fp32, catalog.device("k80-board").fp32);
  EXPECT_DOUBLE_EQ(2 * catalog.device("k80").memory_bytes,
                   catalog.device("k80-board").memory_bytes);
}

TEST(Catalog, UserFilesExtendAndOverride) {
  Catalog catalog = Catalog::built_in();
  catalog.add(
      "devices:\n"
      "  mine: {kind: volta, fp32_gflops: 1, memory_gb: 1, bandwidth_gbps: 1, clock_mhz: 1, "
      "source: me}\n"
      "links:\n  10gbe: {gbps: 1.1, latency_us: 5, source: measured}\n"
      "prices:\n  - {device: k80, cloud: own, instance: cellar, devices: 1, usd_per_hour: 0.1, "
      "date: 2026-01-01, source: me}\n",
      "mine.yaml");
  EXPECT_DOUBLE_EQ(catalog.device("mine").fp32, 1e9);
  EXPECT_DOUBLE_EQ(catalog.link("10gbe").speed.bytes_per_s, 1.1e9);
  EXPECT_EQ(catalog.cheapest("k80")->instance, "cellar");
}

TEST(Catalog, FiguresThatAStackLeavesOutAreThoseOfItsClassOfDevice) {
  Catalog catalog = Catalog::built_in();
  catalog.add("stacks:\n  mine:\n    cpu: {conv: 0.5}\n    gpu: {conv: 0.6}\n", "mine.yaml");
  const Stack& stack = catalog.stack("mine");
  EXPECT_EQ(stack.for_class("cpu").conv, 0.5);
  EXPECT_EQ(stack.for_class("cpu").kernel_us, prior_efficiency("cpu").kernel_us);
  EXPECT_EQ(stack.for_class("gpu").kernel_us, prior_efficiency("gpu").kernel_us);
}

TEST(Catalog, WrongFilesAreReportedWithFileLineAndField) {
  Catalog catalog = Catalog::built_in();
  EXPECT_EQ(message_of([&] {
              catalog.add("devices:\n  mine:\n    kind: volta\n    fp32_gflops: fast\n", "m.yaml");
            }),
            "m.yaml:4: field 'devices.mine.fp32_gflops': expected a number, found \"fast\"");
  EXPECT_NE(
      message_of([&] { catalog.add("device:\n  a: 1\n", "m.yaml"); }).find("Did you mean devices"),
      std::string::npos);
  EXPECT_NE(message_of([&] {
              catalog.add("stacks:\n  s: {gpu: {con: 0.5}}\n", "m.yaml");
            }).find("stacks.s.gpu.con"),
            std::string::npos);
}

TEST(Catalog, UnknownNamesGetTheNearest) {
  const Catalog catalog = Catalog::built_in();
  EXPECT_NE(message_of([&] { catalog.device("v10"); }).find("Did you mean v100"),
            std::string::npos);
  EXPECT_NE(message_of([&] { catalog.link("10gb"); }).find("10gbe"), std::string::npos);
  EXPECT_NE(message_of([&] { catalog.stack("tensorflow"); }).find("not known"), std::string::npos);
}

TEST(Device, PeaksFallBackToTheNextWiderType) {
  Device device;
  device.fp32 = 10;
  EXPECT_EQ(device.peak(Precision::kFp16), 10);
  EXPECT_EQ(device.peak(Precision::kInt8), 10);
  EXPECT_EQ(device.peak(Precision::kTf32), 10);
  device.fp16 = 20;
  device.fp16_matrix = 80;
  EXPECT_EQ(device.peak(Precision::kFp16), 80);
  EXPECT_THROW(precision_from_name("fp31"), Error);
}

}  // namespace
}  // namespace trainyard::predict
