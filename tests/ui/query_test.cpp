#include <filesystem>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runs/notes.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"
#include "ui/answers.h"
#include "ui/made_runs.h"
#include "ui/run_index.h"
#include "ui/run_query.h"
#include "ui/step_terms.h"

namespace trainyard::ui {
namespace {

class QueryTest : public ::testing::Test {
 protected:
  QueryTest() : index_({folder_.path()}) {
    make_run(folder_.path(), "small", 16, 1);
    make_run(folder_.path(), "large", 64, 2);
    runs::write_notes(folder_.path() / "small", {.tags = {"best"}, .text = ""});
    index_.scan();
  }

  std::string found(const std::vector<std::string>& words) {
    std::string names;
    for (const auto& [id, run] : index_.runs()) {
      if (matches(row_of(id, run, index_, {}), run, words)) names += id + " ";
    }
    return names;
  }

  TemporaryFolder folder_{"ui_query"};
  RunIndex index_;
};

TEST_F(QueryTest, AsksForSettingsNumbersTagsAndNames) {
  EXPECT_EQ(found({}), "large small ");
  EXPECT_EQ(found({"batch=64"}), "large ");
  EXPECT_EQ(found({"batch=6"}), "");
  EXPECT_EQ(found({"model=lenet5", "seed=1"}), "small ");
  EXPECT_EQ(found({"batch>16"}), "large ");
  EXPECT_EQ(found({"batch>=16", "test_top1<=0.75"}), "large small ");
  EXPECT_EQ(found({"loss<1"}), "");
  EXPECT_EQ(found({"#best"}), "small ");
  EXPECT_EQ(found({"mal"}), "small ");
  EXPECT_EQ(found({"stopped", "state=stopped"}), "large small ");
  EXPECT_EQ(found({"none_such=1"}), "");
}

TEST_F(QueryTest, NamesAComparisonWithNoNumber) {
  EXPECT_EQ(message_of([&] { found({"loss<low"}); }),
            "'loss<low': 'low' is no number; expected NAME>NUMBER, as test_top1>0.9");
}

TEST(StepTerms, NameTheTermThatIsWrong) {
  const StepTerms predicted{.step = 100, .input = 0, .exposed = 10, .compute = 90};
  const auto wrong = [&](StepTerms measured, double others, std::vector<double> workers) {
    return wrong_term(measured, predicted, others, workers);
  };
  EXPECT_EQ(wrong({.step = 110, .input = 0, .exposed = 10, .compute = 100}, 0, {}), "");
  EXPECT_EQ(wrong({.step = 200, .input = 90, .exposed = 10, .compute = 100}, 0, {}), "input");
  EXPECT_EQ(wrong({.step = 200, .input = 0, .exposed = 10, .compute = 190}, 0, {}), "compute");
  EXPECT_EQ(wrong({.step = 200, .input = 0, .exposed = 10, .compute = 190}, 0.5, {}), "other load");
  EXPECT_EQ(wrong({.step = 50, .input = 0, .exposed = 5, .compute = 45}, 0.5, {}), "compute");
  const StepTerms waits{.step = 200, .input = 0, .exposed = 110, .compute = 90};
  EXPECT_EQ(wrong(waits, 0, {90, 91, 89, 90}), "exposed communication");
  EXPECT_EQ(wrong(waits, 0, {90, 91, 180, 90}), "slow rank 2");
}

}  // namespace
}  // namespace trainyard::ui
