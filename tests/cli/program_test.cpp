#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/command.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

TEST(Program, AloneItShowsTheCommands) {
  const Outcome outcome = run({});
  EXPECT_EQ(outcome.code, 0);
  for (const Command* command : all_commands()) {
    EXPECT_NE(outcome.out.find("  " + std::string(command->name)), std::string::npos)
        << command->name;
  }
}

TEST(Program, EveryCommandHasHelpWithExamples) {
  for (const Command* command : all_commands()) {
    const Outcome outcome = run({std::string(command->name), "--help"});
    EXPECT_EQ(outcome.code, 0) << command->name;
    EXPECT_NE(outcome.out.find("Examples:\n  trainyard " + std::string(command->name)),
              std::string::npos)
        << command->name;
    EXPECT_EQ(run({"help", std::string(command->name)}).out, outcome.out);
  }
}

TEST(Program, SuggestsTheNearestCommandAndFlag) {
  EXPECT_EQ(run({"vrsion"}).code, 2);
  EXPECT_NE(run({"vrsion"}).err.find("Did you mean version?"), std::string::npos);
  EXPECT_EQ(run({"version", "--jsno"}).code, 2);
  EXPECT_NE(run({"version", "--jsno"}).err.find("Did you mean --json?"), std::string::npos);
}

TEST(Program, VersionAsJson) {
  const Outcome outcome = run({"version", "--json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_FALSE(Json::parse(outcome.out, "output").at("version").as_string().empty());
}

TEST(Program, UnknownFormatIsAWrongRequest) {
  const Outcome outcome = run({"version", "--format", "xml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("text, md, csv, json"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::cli
