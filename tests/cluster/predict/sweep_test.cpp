#include "cluster/predict/sweep.h"

#include <gtest/gtest.h>

#include "models/zoo/model.h"
#include "support/error_message.h"

namespace trainyard::predict {
namespace {

constexpr const char* kSpec =
    "models: [resnet50, vgg16]\ndevices: [k80, v100]\nworkers: [1, 4, 16]\nbatch: [32, 64]\n"
    "comm: [ring, tree]\nscaling: [weak, strong]\nlink: 25gbe\n";

TEST(Sweep, EveryRowIsWhatPredictSays) {
  const Catalog catalog = Catalog::built_in();
  Networks networks([](const std::string& name) { return models::build_model(name); });
  const SweepSpec spec = read_sweep(kSpec, "s.yaml");
  EXPECT_EQ(spec.configurations(), 96);
  const std::vector<SweepRow> rows = run_sweep(spec, catalog, networks);
  ASSERT_EQ(rows.size(), 96u);
  for (size_t i = 0; i < rows.size(); i += 7) {
    const SweepRow& row = rows[i];
    Request request;
    request.network = &networks.get(spec.models[static_cast<size_t>(row.model)]);
    request.device = &catalog.device(spec.devices[static_cast<size_t>(row.device)]);
    request.stack = &catalog.default_stack(*request.device);
    request.scaling = row.scaling;
    request.workers = {row.workers};
    request.batch = row.batch;
    request.cluster.inside = catalog.link(request.device->inside);
    request.cluster.between = catalog.link("25gbe");
    request.cluster.comm = &find_comm_model(spec.comms[static_cast<size_t>(row.comm)]);
    const Row expected = predict(request).front();
    EXPECT_NEAR(row.step, expected.step, 1e-9 * expected.step);
    EXPECT_EQ(row.fits, expected.fits);
  }
}

TEST(Sweep, ParetoKeepsWhatNothingBeats) {
  std::vector<SweepRow> rows(4);
  rows[0].train = 1, rows[0].cost_usd = 9;
  rows[1].train = 2, rows[1].cost_usd = 5;
  rows[2].train = 3, rows[2].cost_usd = 6;
  rows[3].train = 0.5, rows[3].cost_usd = 1, rows[3].fits = false;
  const auto front = pareto(rows, {measure_from_name("time"), measure_from_name("cost")});
  ASSERT_EQ(front.size(), 2u);
  EXPECT_EQ(front[0].train, 1);
  EXPECT_EQ(front[1].train, 2);
  EXPECT_THROW(measure_from_name("tim"), Error);
}

TEST(Sweep, WrongSpecificationsAreReportedWithLineAndField) {
  EXPECT_EQ(message_of([] { read_sweep("models: [a]\ndevices: [b]\nworkers: [0]\n", "s.yaml"); }),
            "s.yaml:3: field 'workers[0]': expected 1 to 1000000, found 0");
  EXPECT_NE(message_of([] { read_sweep("model: [a]\n", "s.yaml"); }).find("Did you mean models"),
            std::string::npos);
  EXPECT_EQ(message_of([] { read_sweep("models: [a]\n", "s.yaml"); }),
            "s.yaml:1: 'devices' is missing");
}

}  // namespace
}  // namespace trainyard::predict
