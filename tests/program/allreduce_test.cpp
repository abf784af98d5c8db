#include <gtest/gtest.h>

#include "support/run_program.h"

namespace trainyard::cli {
namespace {

struct Refusal {
  std::vector<std::string> arguments;
  std::string words;
};

TEST(AllReduceCommand, RefusesWrongRequests) {
  const Refusal refusals[] = {
      {{"--workers", "0"}, "--workers: 0 is not in 1..1024"},
      {{"--sizes", "4X"}, "'4X' is no size"},
      {{"--sizes", "M"}, "'M' is no size"},
      {{"--sizes", "1M..1K"}, "is no range"},
      {{"--sizes", "6"}, "no multiple of 4"},
      {{"--sizes", "64G"}, "is not in 4..16G"},
      {{"--algorithm", "rign"}, "Did you mean ring?"},
      {{"--seconds", "0"}, "--seconds is 0"},
  };
  for (const Refusal& refusal : refusals) {
    std::vector<std::string> arguments = {"allreduce"};
    arguments.insert(arguments.end(), refusal.arguments.begin(), refusal.arguments.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << refusal.words;
    EXPECT_NE(outcome.err.find(refusal.words), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace trainyard::cli
