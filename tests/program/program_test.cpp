#include <set>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "program/command.h"
#include "program/manual.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

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

TEST(Program, VerboseVersionNamesWhatItIsMadeOf) {
  const Outcome outcome = run({"version", "--verbose", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = Json::parse(outcome.out, "output");
  for (const char* field : {"version", "commit", "compiler", "target", "options", "processor"}) {
    EXPECT_FALSE(data.at(field).as_string().empty()) << field;
  }
  std::set<std::string> linked;
  for (const Json& each : data.at("libraries").items())
    linked.insert(each.at("linked").as_string());
  EXPECT_EQ(linked, (std::set<std::string>{"headers", "shared", "static"}));
  bool fmt = false;
  for (const Json& each : data.at("loaded").items()) {
    EXPECT_TRUE(each.at("file").as_string().starts_with("/")) << each.dump();
    fmt = fmt || each.at("name").as_string().starts_with("libfmt.so");
  }
  EXPECT_TRUE(fmt) << "the library that every file uses is not among those that are loaded";
  EXPECT_EQ(run({"version"}).out.find("built with"), std::string::npos);
}

TEST(Program, DescribesItselfForOtherPrograms) {
  const Outcome output = run({"help", "--json"});
  ASSERT_EQ(output.code, 0) << output.err;
  const Json description = Json::parse(output.out, "description");
  EXPECT_EQ(description.at("commands").items().size(), all_commands().size());
  for (const Json& command : description.at("commands").items()) {
    if (command.at("name").as_string() != "predict") continue;
    const Json& model = command.at("arguments").items().at(0);
    EXPECT_EQ(model.at("name").as_string(), "MODEL");
    EXPECT_TRUE(model.at("positional").as_bool());
    EXPECT_TRUE(model.at("required").as_bool());
    return;
  }
  FAIL() << "predict is not described";
}

TEST(Program, WritesAManualPageOfEveryCommand) {
  const TemporaryFolder folder("manual");
  const std::filesystem::path pages = folder.path() / "man1";
  ASSERT_EQ(run({"help", "--man", pages.string()}).code, 0);
  const Json description = Json::parse(run({"help", "--json"}).out, "description");
  const std::string overview = read_file(pages / "trainyard.1");
  for (const Json& command : description.at("commands").items()) {
    const std::string name = command.at("name").as_string();
    const std::string page = read_file(pages / ("trainyard-" + name + ".1"));
    EXPECT_NE(overview.find(".BR trainyard\\-" + roff_text(name) + " (1)"), std::string::npos);
    EXPECT_NE(page.find(".SH EXAMPLES\n.nf\n  trainyard "), std::string::npos) << name;
    for (const Json& argument : command.at("arguments").items()) {
      const std::string flag = roff_text(argument.at("name").as_string());
      EXPECT_NE(page.find("\\fB" + flag + "\\fR"), std::string::npos) << name << " " << flag;
    }
  }
  EXPECT_EQ(run({"help", "--man", "/proc/nowhere"}).code, 1);
}

TEST(Program, TextOfManualPagesIsNoRequest) {
  EXPECT_EQ(roff_text(".so /etc/passwd\n'tis --a \\n"), "\\&.so /etc/passwd\n\\&'tis \\-\\-a \\en");
}

TEST(Program, WritesAPageOfAnyResult) {
  const TemporaryFolder folder("page");
  const std::string file = (folder.path() / "page.html").string();
  const Outcome outcome = run({"receptive-field", "3", "3", "--html", file});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, file + "\n");
  const std::string page = read_file(file);
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_NE(page.find("$ trainyard receptive-field 3 3 --html"), std::string::npos);
  EXPECT_EQ(run({"receptive-field", "3", "--html", "/nowhere/page.html"}).code, 1);
}

TEST(Program, DoctorSaysWhatToDoAboutWhatIsMissing) {
  const Outcome outcome = run({"doctor", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json data = Json::parse(outcome.out, "output");
  EXPECT_GE(data.at("findings").items().size(), 9U);
  for (const Json& finding : data.at("findings").items()) {
    const bool good = finding.at("health").as_string() == "ok";
    EXPECT_NE(good, !finding.at("advice").as_string().empty()) << finding.dump();
    EXPECT_FALSE(finding.at("found").as_string().empty());
  }
}

TEST(Program, CompletionKnowsCommandsFlagsAndNames) {
  for (const char* shell : {"bash", "zsh"}) {
    const Outcome outcome = run({"completion", shell});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    for (const char* word : {"analyze) flags='--help", "--learning-rate", "resnet50", "k80", "tour",
                             "words='list show run export'", "'text md csv json html bundle'",
                             "3\\ lab\\ export", "complete -o filenames -F _trainyard trainyard"}) {
      EXPECT_NE(outcome.out.find(word), std::string::npos) << word;
    }
  }
  EXPECT_TRUE(run({"completion", "zsh"}).out.starts_with("#compdef trainyard\n"));
  const Outcome fish = run({"completion", "fish"});
  EXPECT_EQ(fish.code, 0) << fish.err;
  EXPECT_NE(fish.out.find("'__fish_seen_subcommand_from analyze' -l batch"), std::string::npos);
  EXPECT_EQ(run({"completion", "tcsh"}).code, 2);
}

TEST(Program, UnknownFormatIsAWrongRequest) {
  const Outcome outcome = run({"version", "--format", "xml"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("text, md, csv, json"), std::string::npos);
}

TEST(Program, SeveralSettingsStandBehindOneFlag) {
  const Outcome both = run({"lab", "show", "staleness", "--set", "batch=64", "epochs=7", "--json"});
  ASSERT_EQ(both.code, 0) << both.err;
  const Json settings = Json::parse(both.out, "out").at("settings");
  EXPECT_EQ(settings.at("batch").as_int(), 64);
  EXPECT_EQ(settings.at("epochs").as_int(), 7);
  // What has no '=' is a positional as before.
  EXPECT_EQ(run({"lab", "show", "--set", "batch=64", "staleness"}).code, 0);
  EXPECT_EQ(run({"lab", "show", "staleness", "--set", "batch=64", "--set", "epochs=7"}).code, 0);
  EXPECT_EQ(run({"lab", "show", "staleness", "--set", "batch=64", "tour"}).code, 2);
}

TEST(Program, QuestionsOfTheCourseAreListed) {
  const Outcome all = run({"lab", "list", "--course", "--json"});
  ASSERT_EQ(all.code, 0) << all.err;
  EXPECT_GT(Json::parse(all.out, "out").at("questions").items().size(), 90U);
  EXPECT_NE(run({"lab", "list", "--course", "hw7-p1"}).out.find("staleness: The schedule"),
            std::string::npos);
  EXPECT_NE(run({"lab", "run", "--course"}).err.find("needs a problem"), std::string::npos);
  EXPECT_NE(run({"lab", "run", "--course", "hw7p2"}).err.find("Did you mean hw7-p2"),
            std::string::npos);
  EXPECT_EQ(run({"lab", "run", "tour", "--course", "hw7-p2"}).code, 2);
}

// A script written for an old name is told the new one.
TEST(Program, AFlagThatAnActionWouldIgnoreIsRefused) {
  const Outcome list = run({"lab", "list", "--set", "batch=1"});
  EXPECT_EQ(list.code, 2);
  EXPECT_NE(list.err.find("lab list: --set does not belong to it, but to lab show, run, export"),
            std::string::npos)
      << list.err;
  EXPECT_EQ(run({"rl", "list", "--steps", "5"}).code, 2);
  EXPECT_EQ(run({"serve", "lenet5", "--rate", "5"}).code, 2);
  EXPECT_EQ(run({"schedule", "optimus:2", "--slots", "3"}).code, 2);
  EXPECT_EQ(run({"schedule", "optimus:2", "--nodes", "9"}).code, 0);
}

TEST(Program, AFlagGivenTwiceIsNamed) {
  const Outcome twice = run({"analyze", "lenet5", "--batch", "1", "--batch", "2"});
  EXPECT_EQ(twice.code, 2);
  EXPECT_NE(twice.err.find("analyze: --batch is given more than once"), std::string::npos)
      << twice.err;
}

// What the library refuses names a setting; here it is a flag.
TEST(Program, SettingsThatTheLibraryNamesAreFlags) {
  const Outcome int8 = run({"predict", "lenet5", "--precision", "int8"});
  EXPECT_EQ(int8.code, 2);
  EXPECT_NE(int8.err.find("; add --inference"), std::string::npos) << int8.err;
  const Outcome help = run({"train", "--help"});
  EXPECT_NE(help.out.find("after --clip-norm"), std::string::npos);
  EXPECT_EQ(help.out.find("`clip_norm`"), std::string::npos) << help.out;
  EXPECT_EQ(run({"help", "--json"}).out.find("`clip_norm`"), std::string::npos);
}

TEST(Program, OnlyFlagsOfTheCommandReplaceNamesInBackquotes) {
  bool nesterov = false;
  Args args("try", "", "");
  args.flag("--nesterov", nesterov, "");
  EXPECT_EQ(args.with_flags("`nesterov` is `on`, or `nesterov`; `"),
            "--nesterov is `on`, or --nesterov; `");
  EXPECT_EQ(args.with_flags("`x`nesterov`"), "`x--nesterov");
}

TEST(Program, AnyCommandReadsItsOptionsFromAFile) {
  const TemporaryFolder folder("options_file");
  const std::string file = folder / "options.yaml";
  write_file(file, "device: v100\nbatch: 32\ninference: true\nhybrid: false\nworkers: [1, 4]\n");
  const auto predicted = [](const std::vector<std::string>& options) {
    std::vector<std::string> words = {"predict", "lenet5", "--json"};
    words.insert(words.end(), options.begin(), options.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    Json result = Json::parse(outcome.out, "output");
    result["command"] = "";
    return result.dump();
  };
  const auto typed =
      predicted({"--device", "v100", "--batch", "32", "--inference", "--workers", "1,4"});
  EXPECT_EQ(predicted({"--config", file}), typed);
  EXPECT_EQ(predicted({"--config=" + file, "--batch", "64"}),
            predicted({"--device", "v100", "--batch", "64", "--inference", "--workers", "1,4"}));

  write_file(file, "device: v100\nbatchs: 8\n");
  const Outcome unknown = run({"predict", "lenet5", "--config", file});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("options.yaml:2"), std::string::npos) << unknown.err;
  EXPECT_NE(unknown.err.find("batch"), std::string::npos) << unknown.err;

  for (const char* wrong : {"batch: {a: 1}\n", "config: x.yaml\n", "help: true\n", "", "[1]\n"}) {
    write_file(file, wrong);
    EXPECT_EQ(run({"predict", "lenet5", "--config", file}).code, 2) << wrong;
  }
  EXPECT_EQ(run({"predict", "lenet5", "--config", file + ".none"}).code, 2);
}

TEST(Program, RenamedFlagsSayTheirNewName) {
  const struct {
    std::vector<std::string> arguments;
    std::string expected;
  } cases[] = {{{"predict", "alexnet", "--model", "paleo"}, "--model is now called --cost-model"},
               {{"predict", "alexnet", "--input=100"}, "--input is now called --input-rate"},
               {{"train", "--runs", "x"}, "--runs is now called --runs-dir"},
               {{"validate", "--network", "vgg16"}, "--network is now called --model"}};
  for (const auto& c : cases) {
    const Outcome outcome = run(c.arguments);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find(c.expected), std::string::npos) << outcome.err;
  }
}

TEST(Program, HelpListsEachGroupOnce) {
  const std::string help = run({"--help"}).out;
  const std::string group = "\nRun\n";
  const size_t first = help.find(group);
  ASSERT_NE(first, std::string::npos) << help;
  EXPECT_EQ(help.find(group, first + 1), std::string::npos) << help;
}

}  // namespace
}  // namespace trainyard::cli
