#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/schedule/loss/clean.h"
#include "cluster/schedule/loss/fit.h"
#include "cluster/schedule/loss/regression.h"
#include "cluster/schedule/loss/stages.h"
#include "fixture.h"

namespace trainyard::schedule {
namespace {

TEST(LossFit, ExactDataGiveTheirCoefficients) {
  const Json data = fixture("loss.json");
  for (const Json& one : data.at("synthetic").items()) {
    const std::vector<double> k = numbers(one.at("k"));
    const LossFit fit = fit_loss(LossModel::kInverse, k, numbers(one.at("loss")), {});
    const std::vector<double> beta = numbers(one.at("beta"));
    for (size_t c = 0; c < 3; ++c) EXPECT_NEAR(fit.beta[c], beta[c], 1e-6) << c;
    const LossFit noisy = fit_loss(LossModel::kInverse, k, numbers(one.at("noisy")), {});
    EXPECT_LE(noisy.sse, one.at("noisy_sse").as_number() * 1.001);
    EXPECT_GT(noisy.standard_error[0], 0);
  }
}

TEST(LossFit, MeetsTheReferenceOnRealCurves) {
  const Json data = fixture("loss.json");
  for (const Json& run : data.at("runs").items()) {
    const std::vector<double> k = numbers(run.at("k"));
    const std::vector<double> loss = numbers(run.at("loss"));
    for (const Json& fit : run.at("fits").items()) {
      const auto points = static_cast<size_t>(fit.at("prefix_points").as_int());
      const CleanLoss clean = clean_losses(std::span(loss).first(points));
      std::vector<double> outliers(clean.outliers.begin(), clean.outliers.end());
      EXPECT_EQ(outliers, numbers(fit.at("outlier_indices"))) << run.at("name").as_string();
      const auto seen = std::span(k).first(points);
      const LossFit plain = fit_loss(LossModel::kInverse, seen, clean.loss, {});
      EXPECT_LE(plain.sse, fit.at("sse_unweighted").as_number() * 1.001) << points;
      const LossFit weighted =
          fit_loss(LossModel::kInverse, seen, clean.loss, segment_weights(points));
      EXPECT_LE(weighted.sse, fit.at("weighted_sse").as_number() * 1.001) << points;
      const std::vector<double> reference = numbers(fit.at("beta_unweighted"));
      const Beta beta = {reference[0], reference[1], reference[2]};
      for (const double at : seen) {
        EXPECT_NEAR(plain.at(at) / loss_at(LossModel::kInverse, beta, at), 1, 0.01);
      }
    }
  }
}

// The error on the rest of a stage is at most that of Optimus' weighted model.
TEST(LossFit, PredictsTheRestAtLeastAsWellAsTheReference) {
  const Json data = fixture("loss.json");
  for (const Json& run : data.at("runs").items()) {
    Curve curve{.name = run.at("name").as_string(),
                .k = numbers(run.at("k")),
                .loss = numbers(run.at("loss")),
                .rate = {},
                .accuracy = {}};
    const StageFit stage = fit_stage(curve, {0, curve.size()}, 0);
    ASSERT_EQ(stage.scores.size(), 4U);
    for (size_t i = 0; i < 4; ++i) {
      const Json& fit = run.at("fits").items()[i];
      const double reference = fit.at("rest_mape_pct_weighted").as_number() / 100;
      EXPECT_NEAR(stage.scores[i].inverse_mape, reference, 0.02 * reference + 1e-4)
          << curve.name << " " << stage.scores[i].points;
      EXPECT_LE(stage.scores[i].mape, reference * 1.05 + 0.002)
          << curve.name << " " << i << " " << loss_model_name(stage.scores[i].model);
    }
  }
}

TEST(Stages, FollowTheRateAndAreDetectedWithoutIt) {
  Curve curve{.name = "made", .k = {}, .loss = {}, .rate = {}, .accuracy = {}};
  for (int epoch = 1; epoch <= 60; ++epoch) {
    const bool late = epoch > 40;
    curve.k.push_back(epoch);
    curve.loss.push_back((late ? 0.3 : 1.0) * (1 / (0.5 * epoch + 0.6) + 0.3));
    curve.rate.push_back(late ? 0.01 : 0.1);
  }
  const auto by_rate = find_stages(curve);
  curve.rate.clear();
  const auto detected = find_stages(curve);
  ASSERT_EQ(by_rate.size(), 2U);
  ASSERT_EQ(detected.size(), 2U);
  EXPECT_EQ(by_rate[1].first, 40U);
  EXPECT_EQ(detected[1].first, 40U);
  const CurveFit fit = fit_curve(curve);
  EXPECT_EQ(fit.stages[0].chosen.model, LossModel::kInverse);
  const auto converged = convergence_k(fit.stages[0], 0.001);
  ASSERT_TRUE(converged);
  // 0.45 / (0.5 k)^2 falls below 0.001 of the largest loss.
  EXPECT_NEAR(*converged, 40, 12);
}

TEST(Convergence, IsNotSaidOfRisingLosses) {
  const Curve curve = curve_from_csv(
      "epoch,loss,rate\n1,9,0.1\n2,7,0.1\n3,5,0.1\n4,4,0.1\n5,3,0.1\n6,1,0.01\n7,1.1,0.01\n"
      "8,1.3,0.01\n9,1.2,0.01\n10,1.5,0.01\n11,1.6,0.01\n",
      "c.csv");
  const StageFit last = fit_curve(curve).stages.back();
  EXPECT_TRUE(last.rising);
  EXPECT_FALSE(convergence_k(last, 0.01));
}

TEST(Curve, WrongOnesAreNamed) {
  const auto message = [](const std::string& csv) {
    try {
      curve_from_csv(csv, "c.csv");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(message("epoch,loss\n1,2\n2,1\n").find("at least 5"), std::string::npos);
  EXPECT_NE(message("epoch,loss\n1,2\n2,nan\n3,1\n4,1\n5,1\n").find("c.csv:3"), std::string::npos);
  EXPECT_NE(message("epoch,loss\n1,2\n3,1\n2,1\n4,1\n5,1\n").find("ascending"), std::string::npos);
  EXPECT_NE(message("epoch,loss\n1,1\n2,1\n3,1\n4,1\n5,1\n").find("everywhere"), std::string::npos);
  EXPECT_NE(message("epoch,loss\n1,1\n2,1.1\n3,1.3\n4,1.2\n5,1.5\n6,1.6\n").find("rises"),
            std::string::npos);
  EXPECT_NE(message("epoch,loss\n1,2\n2,-1\n3,1\n4,1\n5,1\n").find("above 0"), std::string::npos);
  EXPECT_NE(message("epoch,los\n1,2\n").find("loss"), std::string::npos);
}

// Curves of three depths on two devices that follow the regression's own form: b0 falls with depth,
// and the second device's losses are a tenth larger.
std::vector<Curve> made_curves(const std::vector<double>& depths) {
  std::vector<Curve> curves;
  for (const double depth : depths) {
    for (const char* device : {"k80", "v100"}) {
      Curve curve{.name = fmt::format("{}-{}", device, depth)};
      curve.depth = depth;
      curve.device = device;
      const double scale = device == std::string("v100") ? 1.1 : 1.0;
      const Beta beta = {4 / depth, 0.5, 0.02};
      for (int epoch = 1; epoch <= 60; ++epoch) {
        curve.k.push_back(epoch);
        curve.loss.push_back(scale * loss_at(LossModel::kInverse, beta, epoch));
        curve.accuracy.push_back(1 - curve.loss.back() / 2);
      }
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

TEST(Curve, OneTableHoldsThoseOfSeveralDevicesAndDepths) {
  std::string csv = "device,depth,epoch,loss\n";
  for (int epoch = 1; epoch <= 6; ++epoch) {
    csv += fmt::format("k80,20,{0},{1}\nv100,20,{0},{2}\nk80,56,{0},{3}\n", epoch, 2.0 / epoch,
                       3.0 / epoch, 4.0 / epoch);
  }
  const std::vector<Curve> curves = curves_from_csv(csv, "all.csv");
  ASSERT_EQ(curves.size(), 3U);
  EXPECT_EQ(curves[1].name, "v100, depth 20");
  EXPECT_EQ(curves[1].device, "v100");
  EXPECT_EQ(curves[2].depth, 56);
  EXPECT_EQ(curves[2].loss, (std::vector<double>{4, 2, 4.0 / 3, 1, 0.8, 4.0 / 6}));
}

TEST(LossRegression, PredictsADepthThatWasLeftOut) {
  std::vector<CurveModel> models;
  for (const Curve& curve : made_curves({20, 32, 56})) models.push_back(fit_model(curve));
  const LossRegression regression = fit_regression(models);
  ASSERT_EQ(regression.devices, (std::vector<std::string>{"k80", "v100"}));
  // The second device has larger losses, by a tenth, and nothing else.
  EXPECT_NEAR(regression.lines[3].offsets[0].value, std::log(1.1), 1e-6);
  EXPECT_GT(regression.lines[3].r_squared, 0.98);
  for (const Curve& real : made_curves({44})) {
    EXPECT_LT(curve_error(regression.predict(44, real.device), real), 0.01) << real.name;
  }
  EXPECT_THROW(regression.predict(44, "a100"), Error);
}

TEST(LossRegression, EpochsToAnAccuracyOfADepthThatWasLeftOut) {
  const std::vector<Curve> curves = made_curves({20, 32, 56});
  std::vector<CurveModel> models;
  for (const Curve& curve : curves) models.push_back(fit_model(curve));
  const std::optional<double> loss = loss_at_accuracy(curves, 0.9, 44);
  ASSERT_TRUE(loss);
  EXPECT_NEAR(*loss, 0.2, 0.01);
  const std::optional<double> k = k_at_loss(fit_regression(models).predict(44, "k80"), *loss);
  ASSERT_TRUE(k);
  const Curve real = made_curves({44})[0];
  const auto reached =
      std::find_if(real.accuracy.begin(), real.accuracy.end(), [](double a) { return a >= 0.9; });
  EXPECT_NEAR(*k, real.k[static_cast<size_t>(reached - real.accuracy.begin())], 2);
  EXPECT_FALSE(loss_at_accuracy(curves, 0.999, 44));
}

TEST(LossRegression, RefusesWhatItCannotTellApart) {
  std::vector<Curve> curves = made_curves({20, 32});
  const auto fit = [](std::span<const Curve> some) {
    std::vector<CurveModel> models;
    for (const Curve& curve : some) models.push_back(fit_model(curve));
    return fit_regression(models);
  };
  // One depth alone; then each device with a depth of its own.
  EXPECT_THROW(fit(std::span(curves).first(2)), Error);
  EXPECT_THROW(fit(std::vector<Curve>{curves[0], curves[3]}), Error);
  curves[0].depth.reset();
  EXPECT_THROW(fit_model(curves[0]), Error);
}

TEST(Curve, SaysDepthAndDeviceInColumns) {
  const Curve curve = curve_from_csv(
      "epoch,loss,depth,device\n1,9,20,k80\n2,7,20,k80\n3,5,20,k80\n4,4,20,k80\n5,3,20,k80\n",
      "c.csv");
  EXPECT_EQ(curve.depth, 20);
  EXPECT_EQ(curve.device, "k80");
  EXPECT_THROW(
      curve_from_csv("epoch,loss,depth\n1,9,20\n2,7,20\n3,5,32\n4,4,20\n5,3,20\n", "c.csv"), Error);
}

}  // namespace
}  // namespace trainyard::schedule
