#include "cluster/predict/fit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "cluster/predict/catalog.h"
#include "cluster/predict/networks.h"
#include "models/zoo/model.h"

namespace trainyard::predict {
namespace {

Networks& networks() {
  static Networks all([](const std::string& name) { return models::build_model(name); });
  return all;
}

const Catalog& fit_catalog() {
  static const Catalog built_in = Catalog::built_in();
  return built_in;
}

// Rows as the catalog itself predicts them, `factor` times as fast.
std::vector<FitRow> rows_of(std::string_view stack, std::string_view device, double factor) {
  std::vector<FitRow> rows;
  for (const char* network : {"resnet18", "vgg11", "squeezenet1_0"}) {
    for (const double batch : {8.0, 64.0}) {
      FitRow row{&networks().get(network).merged,
                 &fit_catalog().device(device),
                 &fit_catalog().stack(stack),
                 batch,
                 Precision::kFp16,
                 Mode::kTraining,
                 0};
      row.images_per_s = factor * predicted_speed(row, *row.stack);
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(HierarchicalFit, StartsFromTheCatalogAndLeavesWhatIsRightAlone) {
  const auto rows = rows_of("timm-pytorch-1.12-amp-nhwc", "rtx-3090", 1.0);
  HierarchicalFit fit(rows, Hierarchy::Start::kCatalog);
  for (const double error : fit.errors()) EXPECT_NEAR(error, 0, 1e-3);
}

TEST(HierarchicalFit, RelativesOfMeasuredStacksFollowThem) {
  const Stack& measured = fit_catalog().stack("timm-pytorch-1.12-amp-nhwc");
  const Stack& relative = fit_catalog().stack("timm-pytorch-2.4-amp-nhwc");
  const auto slow = rows_of(measured.id, "rtx-3090", 0.5);
  const auto fast = rows_of(measured.id, "rtx-3090", 1.0);
  HierarchicalFit from_slow(slow, Hierarchy::Start::kRelatives);
  HierarchicalFit from_fast(fast, Hierarchy::Start::kRelatives);
  EXPECT_LT(from_slow.efficiency(relative, "gpu").matrix,
            from_fast.efficiency(relative, "gpu").matrix);
  // Rows narrow a figure down, and those of a stack its own the most.
  const auto own = from_fast.certainty(measured, "gpu", 2);
  const auto other = from_fast.certainty(relative, "gpu", 2);
  EXPECT_GT(own.determined, other.determined);
  EXPECT_GT(other.determined, 0);
}

TEST(HierarchicalFit, StacksOfTheSameAgeFollowOneAnother) {
  // Torch 7 of 2016 says more of TensorFlow of 2017 than of TensorFlow of 2018.
  const auto ratio = [](double speed) {
    auto rows = rows_of("torch-cudnn4", "titan-x-maxwell", speed);
    HierarchicalFit fit(rows, Hierarchy::Start::kRelatives);
    return fit.efficiency(fit_catalog().stack("tensorflow-1.1"), "gpu").conv /
           fit.efficiency(fit_catalog().stack("tensorflow-1.9"), "gpu").conv;
  };
  EXPECT_LT(ratio(0.4), 0.995 * ratio(1.0));
}

TEST(HierarchicalFit, WithoutRowsAStackIsWhatItsPropertiesSay) {
  HierarchicalFit fit({}, Hierarchy::Start::kRelatives);
  const auto conv = [&](std::string_view stack, std::string_view device_class) {
    return fit.efficiency(fit_catalog().stack(stack), device_class).conv;
  };
  EXPECT_NEAR(conv("opencl-greentea", "gpu"), 0.35 * conv("caffe-native", "gpu"), 1e-3);
  EXPECT_LT(conv("torch-native", "cpu"), 0.3 * conv("mxnet-1.2", "cpu"));
  EXPECT_EQ(conv("torch-native", "gpu"), conv("torch-cudnn4", "gpu"));
  const auto launch = [&](std::string_view stack) {
    return fit.efficiency(fit_catalog().stack(stack), "gpu").launch_us;
  };
  EXPECT_NEAR(launch("ngc-mxnet-22.10"), 0.25 * launch("ngc-mxnet-20.03"), 1e-3);
}

TEST(HierarchicalFit, LeavingOutByFormulaAgreesWithFittingAgain) {
  auto rows = rows_of("timm-pytorch-1.12-amp-nhwc", "rtx-3090", 1.0);
  for (size_t i = 0; i < rows.size(); ++i) rows[i].images_per_s *= i % 2 == 0 ? 1.03 : 0.98;
  HierarchicalFit fit(rows, Hierarchy::Start::kCatalog);
  const std::vector<int> groups = {0, 0, 1, 1, 2, 2};
  const std::vector<double> formula = fit.errors_left_out(groups);
  const std::vector<double> again = fit.errors_refitted(groups);
  const std::vector<double> with = fit.errors();
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_NEAR(formula[i], again[i], 0.01);
    EXPECT_GE(std::fabs(formula[i]) + 0.01, std::fabs(with[i]));
  }
}

TEST(HierarchicalFit, AStackWithoutItsOnlyRowsIsPredictedByItsRelatives) {
  auto rows = rows_of("timm-pytorch-1.12-amp-nhwc", "rtx-3090", 1.0);
  const size_t others = rows.size();
  // Far off, so that the stack's own figures are far from those of its relatives.
  for (const FitRow& row : rows_of("mxnet-1.2", "titan-x-maxwell", 8.0)) rows.push_back(row);
  HierarchicalFit fit(rows, Hierarchy::Start::kRelatives);
  std::vector<int> groups(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) groups[i] = i < others ? static_cast<int>(i) : 100;
  const std::vector<double> formula = fit.errors_left_out(groups);
  const std::vector<double> again = fit.errors_refitted(groups);
  for (size_t i = others; i < rows.size(); ++i) {
    EXPECT_LT(std::fabs(formula[i] - again[i]), 0.4) << formula[i] << " and " << again[i];
  }
}

TEST(Hierarchy, SharesOfAPeakStayBelowIt) {
  EXPECT_LT(figure_from(0, std::log(5.0)), 1.0);
  EXPECT_NEAR(figure_from(0, std::log(0.3)), 0.3, 1e-3);
}

}  // namespace
}  // namespace trainyard::predict
