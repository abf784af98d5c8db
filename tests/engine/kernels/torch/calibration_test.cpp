// What `calibrate --device torch:cpu` makes is a device that predictions know.
#include "studies/calibration/calibration.h"

#include <gtest/gtest.h>

#include "cluster/predict/catalog.h"
#include "cluster/predict/this_machine.h"
#include "engine/device/device_list.h"
#include "studies/calibration/this_machine.h"
#include "support/error_message.h"

namespace trainyard::measure {
namespace {

TEST(TorchCalibration, BecomesADeviceOfTheCatalog) {
  CalibrationOptions options;
  options.threads = 1;
  options.seconds = 0.05;
  options.graphs = quick_calibration_graphs();
  options.device = device::open_device("torch:cpu");
  const Calibration found = calibrate(options);
  EXPECT_EQ(found.device.id, "torch-cpu");
  // How much depends on what else the machine does.
  EXPECT_GT(found.device.fp32, 0);
  EXPECT_GT(found.device.bytes_per_s, 0);
  EXPECT_TRUE(found.scaling.empty());

  predict::Catalog catalog = predict::Catalog::built_in();
  const ThisMachineOptions wanted{
      .device = options.device, .networks = {"lenet5"}, .runs = 1, .begins = {}};
  EXPECT_NE(message_of([&] { validate_this_machine(catalog, wanted); }).find("torch-cpu"),
            std::string::npos);
  catalog.add(predict::machine_yaml(found.device, found.stack), "torch-cpu.yaml");
  EXPECT_EQ(catalog.device("torch-cpu").clock_hz, 0);  // libtorch does not say
  const std::vector<MachineRow> rows = validate_this_machine(catalog, wanted);
  ASSERT_EQ(rows.size(), 3U);
  for (const MachineRow& row : rows) {
    EXPECT_GT(row.measured, 0);
    EXPECT_GT(row.predicted, 0);
  }
}

}  // namespace
}  // namespace trainyard::measure
