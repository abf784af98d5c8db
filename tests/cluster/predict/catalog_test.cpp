#include "cluster/predict/catalog.h"

#include <set>

#include <gtest/gtest.h>

#include "cluster/predict/instances.h"
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
  EXPECT_TRUE(catalog.cheapest("k80")->complete);
}

TEST(Instances, EveryRowHasAKeyItsSourcesAndLinksThatExist) {
  const Catalog catalog = Catalog::built_in();
  std::set<std::pair<std::string, std::string>> keys;
  for (const Instance& instance : built_in_instances()) {
    SCOPED_TRACE(instance.instance);
    EXPECT_TRUE(keys.emplace(instance.cloud, instance.instance).second);
    EXPECT_FALSE(instance.source.empty());
    if (!instance.device.empty()) catalog.device(instance.device);
    if (!instance.inside.empty()) catalog.link(instance.inside);
    if (!instance.network.empty()) catalog.link(instance.network);
    if (!instance.usd_per_hour) continue;
    EXPECT_GT(*instance.usd_per_hour, 0);
    EXPECT_EQ(instance.date.size(), 10u);
    EXPECT_FALSE(instance.price_source.empty());
  }
  EXPECT_GT(keys.size(), 300u);
}

// "H100" is the market name of boards that differ in speed and in what connects them.
TEST(Instances, ABoardIsOfferedWithItsOwnLinks) {
  const Catalog catalog = Catalog::built_in();
  for (const RentableInstance& offer : catalog.offers()) {
    SCOPED_TRACE(offer.instance);
    if (offer.device == "h100") {
      EXPECT_EQ(offer.inside, "nvlink4");
      EXPECT_FALSE(offer.instance.starts_with("Standard_NC"));
    }
    EXPECT_GE(offer.devices, 1);
    EXPECT_FALSE(offer.inside.empty() && offer.devices > 1);
  }
  const RentableInstance& nvl = catalog.offer("Standard_NC40ads_H100_v5");
  EXPECT_EQ(nvl.device, "h100-nvl");
  EXPECT_EQ(nvl.devices, 1);
  EXPECT_EQ(nvl.network, "40gbe");
  const RentableInstance& l4 = catalog.offer("g6.xlarge");
  EXPECT_EQ(l4.network_text(), "up to 10gbe");
  EXPECT_EQ(catalog.offer("p4de.24xlarge").usd_per_hour, 40.96575);
}

TEST(Instances, GoogleRentsMachinesAndAcceleratorsApart) {
  const Catalog catalog = Catalog::built_in();
  const RentableInstance& whole = catalog.offer("a2-highgpu-8g");
  EXPECT_NEAR(whole.usd_per_hour, 5.91582 + 23.47126, 1e-9);
  EXPECT_TRUE(whole.complete);
  const RentableInstance& parts = catalog.offer("a3-highgpu-8g");
  EXPECT_NEAR(parts.usd_per_hour, 78.3724, 1e-9);
  EXPECT_FALSE(parts.complete);
  const RentableInstance& attached = catalog.offer("n1-standard-8 with 4 NVIDIA_TESLA_T4");
  EXPECT_NEAR(attached.usd_per_hour, 0.38 + 1.4, 1e-9);
  EXPECT_EQ(attached.device, "t4");
  EXPECT_EQ(attached.devices, 4);
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
  EXPECT_EQ(catalog.offer("cellar").inside, catalog.device("k80").inside);
  catalog.add(
      "instances:\n  - {device: mine, cloud: own, instance: rack, devices: 4, usd_per_hour: 1, "
      "inside: pcie4, network: 100gbe, date: 2026-01-01, source: me}\n",
      "mine.yaml");
  EXPECT_EQ(catalog.cheapest("mine")->devices, 4);
  EXPECT_EQ(catalog.cheapest("mine")->network, "100gbe");
  EXPECT_EQ(catalog.cheapest("k80")->instance, "cellar");
}

TEST(Catalog, InstancesOfAUserNameWhatExists) {
  Catalog catalog = Catalog::built_in();
  const auto problem = [&](const std::string& what) {
    return message_of([&] {
      catalog.add("instances:\n  - {cloud: a, instance: b, devices: 1, usd_per_hour: 1, date: d, " +
                      what + "source: me}\n",
                  "m.yaml");
    });
  };
  EXPECT_NE(problem("device: h10, ").find("m.yaml:2"), std::string::npos);
  EXPECT_NE(problem("device: h10, ").find("Did you mean h100"), std::string::npos);
  EXPECT_NE(problem("device: h100, network: 10gb, ").find("Did you mean 10gbe"), std::string::npos);
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
