#include <gtest/gtest.h>

#include "base/error.h"
#include "fixture.h"
#include "schedule/loss/clean.h"
#include "schedule/loss/fit.h"
#include "schedule/loss/stages.h"

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

}  // namespace
}  // namespace trainyard::schedule
