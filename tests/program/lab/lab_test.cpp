#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "program/lab/cell_states.h"
#include "program/lab/embedded.h"
#include "program/lab/lab_report.h"
#include "program/lab/query.h"
#include "program/lab/run_lab.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::lab {
namespace {

TEST(Query, AnswersInJq) {
  const Json input = Json::parse(R"({"rows": [{"n": 1, "t": 8.0}, {"n": 2, "t": 5.0}]})", "input");
  EXPECT_EQ(ask(".rows | min_by(.t).n", input, "test").as_int(), 2);
  EXPECT_EQ(fill_in("at {{ .rows[0].t / .rows[1].t | fixed(2) }} and {{ .rows | length }}", input,
                    "test"),
            "at 1.60 and 2");
}

TEST(Query, BracesInsideAProgramDoNotEndIt) {
  const Json input = Json::parse(R"({"a": {"b": 7}, "n": 2})", "input");
  const std::pair<const char*, const char*> cases[] = {
      {"{{ {x: {y: .n}}.x.y }}", "2"},
      {"{{ {x: {y: .n}}}}", R"({"x":{"y":2}})"},
      {R"({{ "}}" }} and {{ "\(.n) }} {{" }}!)", "}} and 2 }} {{!"},
      {R"x({{ "a \({b: {c: "}}"}}.b.c + ")") \" }}" }}.)x", "a }}) \" }}."},
      {"{{ .n # a comment }} \"\n + 1 }}", "3"},
      {"{ {{ .n }} }", "{ 2 }"},
      {"no query }} here", "no query }} here"}};
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(fill_in(text, input, "test"), expected) << text;
  }
  for (const char* open : {"{{ .n }", "{{ {a: 1 }}", R"({{ "}} )", R"({{ "\(.n }} )"}) {
    EXPECT_THROW(fill_in(open, input, "test"), Error) << open;
  }
}

TEST(Query, PreludeWritesNumbersForPeople) {
  const std::pair<const char*, const char*> cases[] = {
      {"3.14159 | fixed(2)", "3.14"},
      {"0.005 | fixed(2)", "0.01"},
      {"-1.5 | fixed(1)", "-1.5"},
      {"12 | fixed(0)", "12"},
      {"[0.16, 0.53] | percent_span(0)", "16 % to 53 %"},
      {"[0.501, 0.502] | percent_span(0)", "50 %"},
      {"0.993 | percent(1)", "99.3 %"},
      {"1234567 | commas", "1,234,567"},
      {"25557032 | si", "25.6M"},
      {"0.0123 | seconds_text", "12.3 ms"},
      {"67108864 | bytes_text", "64.0 MiB"},
      {"[\"a\", \"b\", \"c\"] | listed", "a, b and c"},
      {"[[11, 10], [9, 10]] | mean_error | fixed(2)", "0.10"},
      {"0.9 | money", "$0.90"},
      {R"([{result: {notes: ["model: PALEO (head), 62 % of peak", "price: 3", "cluster: x", "cluster: x"]}}] | factors)",
       "PALEO, 62 % of peak; x"},
      {"[{result: {}}] | factors", "none"},
      {"150528 | two_digits", "150K"},
      {"3211264 | two_digits", "3.2M"},
      {"25088 | two_digits", "25K"},
      {"1000 | two_digits", "1.0K"},
      {"[1] | counts_of(\"worker\")", "1 worker"},
      {"[1, 2] | counts_of(\"worker\")", "1 and 2 workers"}};
  for (const auto& [program, expected] : cases) {
    EXPECT_EQ(ask(program, Json(), "test").as_string(), expected) << program;
  }
  for (const char* program : {"fixed(1)", "percent(1)", "si", "seconds_text", "bytes_text",
                              "two_digits", "count_of(\"x\")", "times_as_fast"}) {
    EXPECT_THROW(ask(program, Json(), "test"), Error) << program;
  }
}

TEST(Query, VerdictsNeedTwoNumbers) {
  const std::pair<const char*, const char*> cases[] = {
      {"[2, 1]", "more"},   {"[1, 2]", "less"},   {"[1.05, 1]", "same"},
      {"[-1, -2]", "more"}, {"[-2, -1]", "less"}, {"[-1.05, -1]", "same"}};
  const std::string program = R"(verdict(.[0]; .[1]; 0.1; "more"; "same"; "less"))";
  for (const auto& [numbers, expected] : cases) {
    EXPECT_EQ(ask(program, Json::parse(numbers, "test"), "test").as_string(), expected) << numbers;
  }
  for (const char* missing : {"[null, 1]", "[1, null]", "[]"}) {
    EXPECT_THROW(ask(program, Json::parse(missing, "test"), "test"), Error) << missing;
  }
}

TEST(Query, SaysWhereAProgramIsWrong) {
  EXPECT_NE(message_of([] { ask(".a |", Json(), "my.yaml:7"); }).find("my.yaml:7"),
            std::string::npos);
  const std::string failed = message_of([] {
    ask(".a + 1", Json::object({{"a", "x"}}), "my.yaml:7");
  });
  EXPECT_NE(failed.find("my.yaml:7"), std::string::npos) << failed;
  EXPECT_THROW(ask("empty", Json(), "x"), Error);
  EXPECT_THROW(fill_in("{{ 1", Json(), "x"), Error);
}

constexpr const char* kLab = R"(
title: Sums
question: What is the sum?
settings:
  a: [1, 2]
  b: 10
  name: two words
quick: {a: [1]}
steps:
  - name: sums
    run: "add {a1} {b} --name {name}"
    each: {a1: "{a}", sign: [plus, minus]}
  - {name: rest, run: "more {*name}", quick: false}
report:
  - heading: "Sums of {{ .sums | length }}"
  - answer: "The largest is {{ [.sums[].result.sum] | max }}."
  - when: '.rest | length > 5'
    text: never
  - table:
      rows: '[.sums[] | {a: .a1, sum: .result.sum}] + [null, {a: "total", sum: 1.5}]'
      columns:
        - {key: a}
        - {key: sum, format: fixed 1, best: highest}
  - chart:
      kind: bar
      title: Sums
      y: {name: sum}
      series:
        - {name: sums, origin: measured, points: '[.sums[] | [.sign + (.a1 | tostring), .result.sum]]'}
)";

class LabTest : public ::testing::Test {
 protected:
  LabTest() : folder_("lab") {
    write_file(folder_ / "sums.yaml", kLab);
    lab_ = load_lab((folder_ / "sums.yaml").string());
  }

  Json run(const Choices& choices) {
    LabRun run{.lab = &lab_,
               .choices = choices,
               .directory = folder_ / "out",
               .log = &log_,
               .should_stop = [] { return false; }};
    run.command = [&](std::span<const std::string> words, const auto&) -> Outcome {
      commands_.emplace_back(words.begin(), words.end());
      states_.push_back(states());
      if (words[1] == fail_at_) return {.code = 2, .out = {}, .error = "no such number"};
      const int64_t sum = words[0] == "add" ? std::stoll(words[1]) + std::stoll(words[2]) : 0;
      return {.code = 0, .out = Json::object({{"sum", sum}}).dump(), .error = {}};
    };
    return run_cells(run);
  }

  // Of the lab and its cells, as others see them.
  std::string states() const {
    const Json read = read_cell_states(folder_ / "out");
    std::string text = read.at("state").as_string() + ":";
    for (const Json& cell : read.at("cells").items()) text += " " + cell.at("state").as_string();
    return text;
  }

  TemporaryFolder folder_;
  Lab lab_;
  std::ostringstream log_;
  std::vector<std::string> states_;  // at each command
  std::vector<std::vector<std::string>> commands_;
  std::string fail_at_;
};

TEST_F(LabTest, ExpandsTheMatrix) {
  run({});
  ASSERT_EQ(commands_.size(), 5U);
  EXPECT_EQ(commands_[0],
            (std::vector<std::string>{"add", "1", "10", "--name", "two words", "--json"}));
  EXPECT_EQ(commands_[2][1], "2");
  EXPECT_EQ(commands_[4], (std::vector<std::string>{"more", "two", "words", "--json"}));
}

TEST_F(LabTest, VariablesChangeTogetherAndMayBeComputed) {
  write_file(folder_ / "pairs.yaml", R"(
title: Pairs
question: What?
settings: {rate: 0.5}
steps:
  - name: pairs
    run: "add {n} {scaled}"
    each: {n: [1, 4], how: [{name: plain, scaled: 7}, {name: linear, scaled: "=.rate * .n"}]}
report: []
)");
  const Lab lab = load_lab((folder_ / "pairs.yaml").string());
  const std::vector<Cell> cells = cells_of(lab, {}, "runs");
  ASSERT_EQ(cells.size(), 4U);
  EXPECT_EQ(cells[2].words, (std::vector<std::string>{"add", "4", "7"}));
  EXPECT_EQ(cells[3].words, (std::vector<std::string>{"add", "4", "2"}));
  EXPECT_EQ(cells[3].variables.at("name").as_string(), "linear");
}

TEST_F(LabTest, QuickAndSetChangeSettings) {
  run({.scale = Scale::kQuick, .set = {"b=5"}});
  ASSERT_EQ(commands_.size(), 2U);
  EXPECT_EQ(commands_[0][2], "5");
  EXPECT_THROW(settings_of(lab_, {.set = {"c=5"}}), Error);
  EXPECT_THROW(settings_of(lab_, {.set = {"b"}}), Error);
  EXPECT_EQ(settings_of(lab_, {.set = {"a=3,4"}}).at("a").items()[1].as_int(), 4);
  // Of the kind that the setting has: a list of one, a text with commas.
  EXPECT_EQ(settings_of(lab_, {.set = {"a=3"}}).at("a").items().size(), 1U);
  EXPECT_EQ(settings_of(lab_, {.set = {"name=x:3,n=4"}}).at("name").as_string(), "x:3,n=4");
  EXPECT_EQ(settings_of(lab_, {.set = {"name=4"}}).at("name").as_string(), "4");
}

TEST_F(LabTest, SaysWhatItsCellsAreAt) {
  EXPECT_TRUE(read_cell_states(folder_ / "out").is_null());
  fail_at_ = "2";
  EXPECT_THROW(run({}), Failure);
  EXPECT_EQ(states_[1], "running: done running waiting waiting waiting");
  EXPECT_EQ(states(), "failed: done done failed waiting waiting");
  const Json failed = read_cell_states(folder_ / "out");
  EXPECT_NE(failed.at("problem").as_string().find("no such number"), std::string::npos);
  EXPECT_EQ(failed.at("cells").items()[0].at("command").as_string(), "add 1 10 --name 'two words'");
  fail_at_.clear();
  run({});
  EXPECT_EQ(states(), "done: kept kept done done done");
}

TEST_F(LabTest, ACellOfAProcessThatIsGoneHasStopped) {
  CellStates states({{.step = "sums", .words = "add 1 2"}}, folder_.path(), "quick");
  states.begin(0);
  std::filesystem::last_write_time(
      folder_ / "cells.json",
      std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  const Json read = read_cell_states(folder_.path());
  EXPECT_EQ(read.at("state").as_string(), "stopped");
  EXPECT_EQ(read.at("cells").items()[0].at("state").as_string(), "stopped");
}

TEST_F(LabTest, GoesOnWhereItStopped) {
  fail_at_ = "2";
  EXPECT_THROW(run({}), Failure);
  EXPECT_EQ(commands_.size(), 3U);
  fail_at_.clear();
  run({});
  EXPECT_EQ(commands_.size(), 3U + 3U);  // the two that were done are not run again
  EXPECT_NE(log_.str().find("[1/5] add 1 10 --name 'two words': done before"), std::string::npos)
      << log_.str();
  run({.set = {"b=11"}});
  EXPECT_EQ(commands_.size(), 6U + 4U);  // other words, other results
}

TEST_F(LabTest, ProgressShowsControlCharactersEscaped) {
  run({.set = {"name=\x1b[2J"}});
  EXPECT_EQ(log_.str().find('\x1b'), std::string::npos);
  EXPECT_NE(log_.str().find("\\x1b[2J"), std::string::npos) << log_.str();
}

TEST_F(LabTest, FillsTheReport) {
  const Json data = run({});
  const report::Document document = lab_document(lab_, data, "trainyard lab run sums.yaml");
  const std::string text = report::render(document, report::Format::kText);
  for (const char* piece : {"Sums of 4", "=> The largest is 12.", "total    1.5", "*12.0", "plus1",
                            "Made by: trainyard lab run sums.yaml", "Settings: a 1, 2; b 10"}) {
    EXPECT_NE(text.find(piece), std::string::npos) << piece << "\n" << text;
  }
  EXPECT_EQ(text.find("never"), std::string::npos);
}

TEST_F(LabTest, LeavesOutWhatTheDataLack) {
  const Json data = ask(".sums[].result.sum = null", run({}), "test");
  write_file(folder_ / "lacks.yaml", std::string(kLab) + R"yaml(
  - text: "Half is {{ .sums[0].result.sum / 2 }}."
  - text: '{{ .sums[0] | "Of \(.result.sum)" }}'
  - table: {rows: .nothing, columns: [{key: a}]}
)yaml");
  const report::Document document =
      lab_document(load_lab((folder_ / "lacks.yaml").string()), data, "trainyard");
  const std::string text = report::render(document, report::Format::kText);
  EXPECT_NE(text.find("Left out: the data lack a value"), std::string::npos) << text;
  EXPECT_NE(text.find("Sums of 4"), std::string::npos) << text;
  for (const char* piece : {"The largest is", "Half is", "Of ", "null"}) {
    EXPECT_EQ(text.find(piece), std::string::npos) << piece << "\n" << text;
  }
}

TEST_F(LabTest, LeavesOutColumnsWithoutValues) {
  write_file(folder_ / "columns.yaml", R"(
title: Columns
question: Which?
steps:
  - {name: one, run: add 1 2}
report:
  - table:
      rows: '[{a: 1, b: null}, {a: 2}]'
      columns: [{key: a, name: first}, {key: b, name: second}, {key: c, name: third}]
)");
  lab_ = load_lab((folder_ / "columns.yaml").string());
  const std::string text = report::render(lab_document(lab_, run({}), ""), report::Format::kText);
  EXPECT_NE(text.find("first"), std::string::npos) << text;
  EXPECT_EQ(text.find("second"), std::string::npos) << text;
  EXPECT_EQ(text.find("third"), std::string::npos) << text;
}

// A result that is kept was measured on the machine as it was then.
TEST_F(LabTest, RemembersHowBusyTheMachineWas) {
  run({});
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "out" / "cells")) {
    Json stored = Json::parse(read_file(file.path()), "cell");
    stored["load_average"] = 7.5;
    write_file(file.path(), stored.dump());
  }
  const Json data = run({});
  EXPECT_EQ(data.at("load_average").as_number(), 7.5);
  const std::string text = report::render(lab_document(lab_, data, ""), report::Format::kText);
  EXPECT_NE(text.find("the machine was busy when it began (load 7.5"), std::string::npos) << text;
}

TEST(Labs, PredictionsAreAsGoodOnABusyMachine) {
  for (const char* name : {"optimus-time", "paleo-scaling"}) {
    const Lab lab = load_lab(name);
    Json data = Json::object({{"settings", settings_of(lab, {})}, {"quick", false}});
    data["machine"] = Json::object({{"threads", 2}});
    data["load_average"] = 9;
    for (const Step& step : lab.steps) data[step.name] = Json::array();
    const std::string text = report::render(lab_document(lab, data, ""), report::Format::kText);
    EXPECT_EQ(text.find("busy"), std::string::npos) << text;
  }
}

TEST_F(LabTest, SaysLineAndFieldOfWhatIsWrong) {
  const auto wrong = [&](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    write_file(folder_ / "wrong.yaml", text);
    return message_of([&] {
      const Lab lab = load_lab((folder_ / "wrong.yaml").string());
      lab_ = lab;
      lab_document(lab, run({}), "");
    });
  };
  EXPECT_NE(wrong(kLab, "question:", "qestion:").find("wrong.yaml:"), std::string::npos);
  EXPECT_NE(wrong(kLab, "{b} --name", "{c} --name").find("no setting 'c'"), std::string::npos);
  EXPECT_NE(wrong(kLab, "kind: bar", "kind: pie").find("'pie'"), std::string::npos);
  EXPECT_NE(wrong(kLab, "fixed 1", "fxed 1").find("no format 'fxed 1'"), std::string::npos);
  EXPECT_NE(wrong(kLab, "best: highest", "best: most").find("neither lowest nor highest"),
            std::string::npos);
  EXPECT_NE(message_of([] { load_lab("tuor"); }).find("Did you mean tour?"), std::string::npos);
}

// Labs that are built in: they parse, and each command and setting in them exists.
TEST(Labs, BuiltInOnesExpand) {
  EXPECT_GE(lab_names().size(), 7U);
  for (const std::string& name : lab_names()) {
    const Lab lab = load_lab(name);
    EXPECT_FALSE(lab.quick_time.empty()) << name;
    for (const Scale scale : {Scale::kFull, Scale::kQuick}) {
      EXPECT_FALSE(cells_of(lab, {.scale = scale}, "runs").empty()) << name;
    }
    if (lab.course.empty()) continue;
    EXPECT_FALSE(cells_of(lab, {.scale = Scale::kCourse}, "runs").empty()) << name;
  }
}

// The report of data-parallel has a sentence about it, which needs the command to look for it.
TEST(Labs, DataParallelLooksForTheLargestBatch) {
  bool looks = false;
  for (const Cell& cell : cells_of(load_lab("data-parallel"), {.scale = Scale::kQuick}, "runs")) {
    looks =
        looks || std::find(cell.words.begin(), cell.words.end(), "--memory") != cell.words.end();
  }
  EXPECT_TRUE(looks);
}

// The warm-up of Goyal et al. rises from the rate of the small batch, a share of 64 / 1024 of the
// scaled rate; the small batch has nothing to rise.
TEST(Labs, LargeBatchWarmsUpFromTheRateOfTheSmallBatch) {
  std::string schedules;
  for (const Cell& cell : cells_of(load_lab("large-batch"), {.scale = Scale::kQuick}, "runs")) {
    const Json* schedule = cell.variables.find("schedule");
    if (schedule != nullptr) schedules += schedule->as_string() + " ";
  }
  EXPECT_EQ(schedules,
            "constant constant constant;warmup=1;warmup_from=1 "
            "constant constant constant;warmup=1;warmup_from=0.0625 ");
}

TEST(Query, CrashesAndEndlessProgramsAreErrors) {
  EXPECT_EQ(ask("1 | debug | stderr", Json(), "x").as_int(), 1);
  EXPECT_EQ(ask("[inputs]", Json(), "x").items().size(), 0U);
  for (const char* program : {"input", "def f: f; f", "def f: 1 + f; f", "\"a\" | indices(\"\")",
                              "[range(1e9)]", "[limit(1e8; repeat(1))] | length",
                              "reduce range(40) as $i (\"x\"; . + .) | length", "halt"}) {
    EXPECT_THROW(ask(program, Json(), "x"), Error) << program;
  }
  EXPECT_NE(message_of([] { ask("[range(1e7)]", Json(), "my.yaml:7"); }).find("my.yaml:7"),
            std::string::npos);
  for (const char* program : {"input", "{a: 1} | input", "first(input)"}) {
    const std::string message = message_of([&] { ask(program, Json(), "my.yaml:7"); });
    EXPECT_EQ(message, "my.yaml:7: a query has one input, which is '.'; there is no next one");
  }
  // What a program itself calls so, and where it expects the end of its inputs.
  EXPECT_EQ(message_of([] { ask("error(\"break\")", Json(), "my.yaml:7"); }), "my.yaml:7: break");
  EXPECT_EQ(ask("try input catch \"none\"", Json(), "x").as_string(), "none");
  EXPECT_EQ(ask("first(inputs) // 5", Json(), "x").as_int(), 5);
}

// `from` in the lab above replaced by `to`.
std::string lab_error(std::string_view from, std::string_view to) {
  const TemporaryFolder folder("lab");
  std::string text = kLab;
  text.replace(text.find(from), from.size(), to);
  const std::filesystem::path file = folder.path() / "mine.yaml";
  write_file(file, text);
  return message_of([&] { cells_of(load_lab(file.string()), {}, folder.path()); });
}

TEST(Lab, NamesOfStepsStayInTheFolder) {
  EXPECT_EQ(lab_error("name: rest", "name: rest"), "no error");
  for (const char* name : {"../../../evil", "a-b", "1st", "''", "settings", "quick", "machine",
                           "load_average", "sums"}) {
    EXPECT_NE(lab_error("name: rest", std::string("name: ") + name), "no error") << name;
  }
  EXPECT_NE(lab_error("{a1: \"{a}\"", "{result: \"{a}\"").find("reserved"), std::string::npos);
  EXPECT_THROW(load_lab("/tmp/...yaml"), Error);
}

TEST(Lab, CommandsAreCountedAndDoNotRunLabs) {
  EXPECT_NE(lab_error("more {*name}", "lab run tour").find("cannot run labs"), std::string::npos);
  std::string many = "[0";
  for (int i = 1; i < 5001; ++i) many += fmt::format(",{}", i);
  EXPECT_NE(lab_error("a: [1, 2]", "a: " + many + "]").find("more than 10000 combinations"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::lab
