#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

TEST(VecAddCommand, RefusesWrongRequests) {
  const std::pair<std::vector<std::string>, std::string> refusals[] = {
      {{"--sizes", "0"}, "'0' is no number of elements above 0"},
      {{"--sizes", "4X"}, "'4X' is no number of elements"},
      {{"--sizes", "1000000G"}, "free; try fewer elements"},
      {{"--device", "abacus"}, "there are cpu"},
      {{"--operations", "ad"}, "Did you mean add"},
      {{"--launch", "2x2"}, "there are 1x1, 1x256, Nx256"},
      {{"--seconds", "0"}, "--seconds is 0"},
      {{"--predict", "k81"}, "k80"},
  };
  for (const auto& [more, words] : refusals) {
    std::vector<std::string> arguments = {"vecadd", "--device", "cpu"};
    if (more[0] == "--device") arguments.resize(1);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << words;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << outcome.err;
  }
}

TEST(VecAddCommand, MeasuresTheHostAndPredictsDevices) {
  const std::vector<std::string> arguments = {
      "vecadd",    "--device", "cpu",       "--sizes", "100K,1M",  "--operations", "add,dot",
      "--predict", "k80,h100", "--seconds", "0.02",    "--memory", "copies",       "--json"};
  const Outcome outcome = run(arguments);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = Json::parse(outcome.out, "vecadd");
  // Two sizes of: add in 4 loops, dot in 3, and 2 devices with 3 launches for both.
  ASSERT_EQ(data.at("rows").items().size(), 2U * (4 + 3 + 2 * 2 * 3));
  double slowest = 0;
  double fastest = 1e30;
  for (const Json& row : data.at("rows").items()) {
    const double ms = row.at("kernel_ms").as_number();
    EXPECT_GT(ms, 0);
    EXPECT_GT(row.at("total_ms").as_number(), ms);
    if (row.at("origin").as_string() != "predicted") {
      EXPECT_TRUE(row.at("verified").as_bool());
      continue;
    }
    EXPECT_TRUE(row.at("verified").is_null());
    EXPECT_LE(row.at("share_of_peak").as_number(), 1);
    if (row.at("elements").as_int() != 1'000'000) continue;
    if (row.at("launch").as_string() == "1x1") slowest = std::max(slowest, ms);
    if (row.at("launch").as_string() == "Nx256") fastest = std::min(fastest, ms);
  }
  EXPECT_GT(slowest, 1000 * fastest);
}

}  // namespace
}  // namespace trainyard::cli
