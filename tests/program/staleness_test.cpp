#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

TEST(StalenessCommand, GivesEachGradient) {
  const Outcome outcome =
      run({"staleness", "--learner", "1,2,3,4", "--learner", "2.5,5", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::vector<int64_t> found;
  const Json data = Json::parse(outcome.out, "output");
  for (const Json& row : data.at("gradients").items()) {
    found.push_back(row.at("staleness").as_int());
  }
  EXPECT_EQ(found, (std::vector<int64_t>{0, 0, 1, 0, 2, 2}));
  EXPECT_EQ(data.at("gradients").items()[4].at("time").as_number(), 2.5);
}

TEST(StalenessCommand, DrawsATimeline) {
  const Outcome outcome = run({"staleness", "--learner", "1,2,3,4", "--learner", "2.5,5"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("learner 2 │"), std::string::npos) << outcome.out;
}

TEST(StalenessCommand, RefusesWhatIsNoSchedule) {
  EXPECT_EQ(run({"staleness"}).code, 2);
  const Outcome words = run({"staleness", "--learner", "1,two"});
  EXPECT_EQ(words.code, 2);
  EXPECT_NE(words.err.find("'two' is no number"), std::string::npos) << words.err;
  EXPECT_EQ(run({"staleness", "--learner", "2,1"}).code, 2);
}

}  // namespace
}  // namespace trainyard::cli
