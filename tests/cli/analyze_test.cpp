#include <sstream>

#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/command.h"

namespace trainyard::cli {
namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

Outcome run(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = run_program(arguments, out, err);
  return {code, out.str(), err.str()};
}

Json run_json(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  const Outcome outcome = run(arguments);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Json::parse(outcome.out, arguments[0]);
}

TEST(ReceptiveFieldCommand, ThreeFivesEqualThirteen) {
  const Json json = run_json({"receptive-field", "5", "5", "5"});
  EXPECT_EQ(json.at("receptive_field").as_int(), 13);
  EXPECT_EQ(json.at("equals_filter").as_string(), "13x13");
}

TEST(ReceptiveFieldCommand, TakesStrides) {
  const Json json = run_json({"receptive-field", "5", "5", "5", "--strides", "1,2,1"});
  EXPECT_EQ(json.at("receptive_field").as_int(), 17);
  EXPECT_EQ(json.at("jump").as_int(), 2);
}

TEST(ReceptiveFieldCommand, RejectsAStrideTooMany) {
  const Outcome outcome = run({"receptive-field", "5", "--strides", "1,2"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("2 strides for 1 kernels"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace trainyard::cli
