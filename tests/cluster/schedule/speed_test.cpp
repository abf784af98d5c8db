#include <cmath>

#include <gtest/gtest.h>

#include "base/error.h"
#include "cluster/schedule/speed/speed_model.h"
#include "fixture.h"

namespace trainyard::schedule {
namespace {

std::vector<SpeedPoint> points_of(const Json& fit) {
  std::vector<SpeedPoint> points;
  for (const Json& row : fit.at("points_p_w_speed").items()) {
    points.push_back(
        {row.items()[0].as_int(), row.items()[1].as_int(), row.items()[2].as_number()});
  }
  return points;
}

void expect_theta(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], 1e-6 * std::fabs(wanted[i]) + 1e-9) << i;
  }
}

TEST(SpeedFit, MatchesTheReference) {
  const Json data = fixture("speed.json");
  for (const Json& fit : data.at("fits").items()) {
    const SpeedForm form = speed_form_from_name(fit.at("form").as_string());
    const std::vector<SpeedPoint> points = points_of(fit);
    const double batch = fit.at("M").as_number();
    SCOPED_TRACE(fit.at("model").as_string() + " " + fit.at("form").as_string());
    const SpeedModel time = fit_speed(form, batch, points, SpeedError::kTime);
    expect_theta(time.theta, numbers(fit.at("theta_nnls_time")));
    const SpeedModel relative = fit_speed(form, batch, points, SpeedError::kRelative);
    expect_theta(relative.theta, numbers(fit.at("theta_nnls_relative")));
    EXPECT_NEAR(speed_mape(time, points) * 100, fit.at("fit_mape_pct").at("nnls_time").as_number(),
                1e-4);
    EXPECT_EQ(time.at(points[0].servers, points[0].workers), points[0].steps_per_s);
  }
}

TEST(SpeedFit, RecoversThePublishedTable) {
  const Json data = fixture("speed.json");
  for (const Json& fit : data.at("table2").items()) {
    const SpeedForm form = speed_form_from_name(fit.at("form").as_string());
    const SpeedModel model =
        fit_speed(form, fit.at("M").as_number(), points_of(fit), SpeedError::kTime);
    const std::vector<double> theta = numbers(fit.at("theta"));
    for (size_t i = 0; i < theta.size(); ++i) EXPECT_NEAR(model.theta[i], theta[i], 1e-6) << i;
  }
}

// Few pairs that tell much are enough to find the coefficients of a noisy machine.
TEST(SpeedFit, PairsToMeasureSpreadOut) {
  const auto pairs = pairs_to_measure(SpeedForm::kSync, 128, {}, 8, 20, 6);
  ASSERT_EQ(pairs.size(), 6U);
  bool one_worker = false;
  bool most_workers = false;
  for (const auto& [p, w] : pairs) {
    one_worker |= w == 1;
    most_workers |= w == 20;
  }
  EXPECT_TRUE(one_worker);
  EXPECT_TRUE(most_workers);
}

TEST(SpeedPoints, WrongOnesAreNamed) {
  EXPECT_THROW(speed_points_from_csv("servers,workers,speed\n1,1,0\n", "s.csv", 1), Error);
  EXPECT_THROW(speed_points_from_csv("servers,speed\n1,1\n", "s.csv", 1), Error);
  EXPECT_THROW(
      fit_speed(SpeedForm::kSync, 1, std::vector<SpeedPoint>{{1, 1, 1}}, SpeedError::kTime), Error);
  const auto points = speed_points_from_csv("servers,workers,images_per_s\n0,4,64\n", "s.csv", 32);
  EXPECT_EQ(points[0].servers, 4);
  EXPECT_EQ(points[0].steps_per_s, 2);
}

}  // namespace
}  // namespace trainyard::schedule
