#include "cluster/jobs/description/job.h"

#include <gtest/gtest.h>

#include "cluster/jobs/examples.h"
#include "cluster/jobs/job_file.h"
#include "support/error_message.h"

namespace trainyard::jobs {
namespace {

std::string problem(const std::string& text) {
  return message_of([&] { job_of(text); });
}

TEST(Job, ExampleIsReadWhole) {
  const Job job = example();
  EXPECT_EQ(job.name, "resnet18-cifar");
  EXPECT_EQ(job.command[1], "train.py");
  EXPECT_EQ(job.accelerator, "v100");
  EXPECT_EQ(job.processes(), 8);
  EXPECT_EQ(job.time_limit_s, 7200);
  EXPECT_EQ(job.inputs.at(0).mode, "download");
  EXPECT_EQ(set_fields(job).size(), 22U);
}

TEST(Job, IsWrittenAndReadBack) {
  const Job job = example();
  const std::string text = job_yaml(job);
  EXPECT_EQ(job_yaml(job_of(text)), text);
}

TEST(Job, ExampleHasNoFindings) {
  const JobFile file = parse_job_file(std::string(embedded_file("example.yaml")), "job.yaml");
  EXPECT_EQ(file.format, nullptr);
  EXPECT_TRUE(check_job_file(file).findings.empty());
}

TEST(Job, UnknownKeysGetTheNearestName) {
  EXPECT_EQ(problem("name: a\ncommand: x\nnods: 2\n"),
            "job.yaml:3: field 'nods': no such field. Did you mean nodes or code?");
  EXPECT_EQ(problem("name: a\ncommand: x\nmachine:\n  acelerator: v100\n"),
            "job.yaml:4: field 'machine.acelerator': no such field. Did you mean accelerator?");
}

TEST(Job, WrongValuesAreNamedWithLineAndField) {
  EXPECT_EQ(problem("name: a\ncommand: x\nnodes: 0\n"),
            "job.yaml:3: field 'nodes': 0 is less than 1");
  EXPECT_EQ(problem("name: a\ncommand: x\nnodes: two\n"),
            "job.yaml:3: field 'nodes': expected integer, found \"two\"");
  EXPECT_EQ(problem("command: x\n"), "job.yaml:1: 'name' is missing");
  EXPECT_NE(problem("name: a\ncommand: x\nmachine: {accelerator: v100, count: 0}\n")
                .find("no v100 at all"),
            std::string::npos);
  EXPECT_NE(problem("name: a\ncommand: x\nprocesses_per_node: 2\nlauncher: none\n")
                .find("need a launcher"),
            std::string::npos);
  EXPECT_NE(problem("name: a\ncommand: \"trainyard 'train\"\n").find("does not end"),
            std::string::npos);
}

TEST(Job, ControlCharactersAreRefused) {
  EXPECT_NE(problem("name: \"a\\nb\"\ncommand: x\n").find("one line of text"), std::string::npos);
  EXPECT_NE(problem("name: a\ncommand: x\ntags: {a: \"b\\nc\"}\n").find("job.yaml:3"),
            std::string::npos);
}

TEST(Job, AnchorsAndBombsAreRefused) {
  EXPECT_EQ(problem("name: &n a\ncommand: x\n"),
            "job.yaml:1: anchors (&) and aliases (*) are not taken here; write it out");
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c < 'k'; ++c) {
    bomb += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", c,
                        static_cast<char>(c - 1));
  }
  EXPECT_NE(problem(bomb).find("job.yaml:1: anchors"), std::string::npos);
  EXPECT_NE(problem("name: a\ncommand: x\nenvironment: " + std::string(200, '{')).find("job.yaml:"),
            std::string::npos);
}

TEST(Job, SecretsInPlainTextAreWarnedOf) {
  std::vector<std::string> warnings;
  read_job("name: a\ncommand: x\nenvironment:\n  API_KEY: abcdefgh\n  THREADS: 4\n", "job.yaml",
           warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("job.yaml:4: field 'environment.API_KEY'"), std::string::npos);
  warnings.clear();
  read_job(
      "name: a\ncommand: [curl, AKIAABCDEFGHIJKLMNOP]\nenvironment: {A: AKIAABCDEFGHIJKLMNOP}\n",
      "job.yaml", warnings);
  EXPECT_EQ(warnings.size(), 1U);
  const CheckResult result = check_job_file(
      parse_job_file("name: a\ncommand: x\nenvironment: {TOKEN: abcdefgh}\n", "job.yaml"));
  EXPECT_TRUE(result.ok());
  ASSERT_EQ(result.findings.size(), 1U);
  EXPECT_EQ(result.findings[0].line, 3);
}

TEST(Job, Durations) {
  EXPECT_EQ(parse_duration("1d12h30m5s"), 131405);
  EXPECT_EQ(duration_text(131405), "1d12h30m5s");
  EXPECT_THROW(parse_duration("5x"), Error);
}

}  // namespace
}  // namespace trainyard::jobs
