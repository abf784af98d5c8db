// `trainyard train` as people use it: flags and files, resuming, a process killed for real.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "data/image.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// A small run; `more` adds flags or gives others' values.
Words train_words(const fs::path& root, const Words& more) {
  const std::pair<std::string, std::string> usual[] = {
      {"--model", "lenet5"}, {"--data", "synthetic:1x28x28,classes=4,size=64"},
      {"--runs-dir", root},  {"--batch", "16"},
      {"--epochs", "2"},     {"--threads", "2"}};
  Words words = {"train", "--quiet", "--json"};
  for (const auto& [flag, value] : usual) {
    if (std::find(more.begin(), more.end(), flag) == more.end()) {
      words.insert(words.end(), {flag, value});
    }
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

std::string weights(const fs::path& folder) {
  return read_file(folder / "model.safetensors");
}

TEST(Train, ConfigOfARunRepeatsItExactly) {
  const TemporaryFolder folder("train_cli");
  const Outcome first = run(train_words(
      folder.path(), {"--name", "first", "--augment", "crop:2,flip,normalize", "--seed", "5"}));
  ASSERT_EQ(first.code, 0) << first.err;
  const Json json = Json::parse(first.out, "train");
  EXPECT_EQ(json.at("epochs").items().size(), 2U);
  EXPECT_EQ(json.at("steps").as_int(), 8);
  const Outcome again = run({"train", "--config", folder / "first/config.yaml", "--runs-dir",
                             folder.path(), "--name", "again", "--quiet"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(weights(folder / "first"), weights(folder / "again"));
}

TEST(Train, AFlagTurnsASwitchOfAFileOff) {
  const TemporaryFolder folder("train_cli");
  write_file(folder / "file.yaml", "nesterov: true\nfreeze_epoch_seed: true\n");
  const auto config_of = [&](const std::string& name, const Words& more) {
    Words words = {"--name", name, "--config", folder / "file.yaml", "--max-steps", "1"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = run(train_words(folder.path(), words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return read_file(folder / (name + "/config.yaml"));
  };
  const std::string as_it_is = config_of("plain", {});
  EXPECT_NE(as_it_is.find("nesterov: true"), std::string::npos);
  const std::string off = config_of("off", {"--nesterov", "off"});
  EXPECT_NE(off.find("nesterov: false"), std::string::npos);
  EXPECT_NE(off.find("freeze_epoch_seed: true"), std::string::npos);
  EXPECT_NE(config_of("on", {"--freeze-epoch-seed", "on", "--nesterov"}).find("nesterov: true"),
            std::string::npos);
  EXPECT_EQ(run(train_words(folder.path(), {"--nesterov", "maybe"})).code, 2);
}

// DIR/CLASS/*.png without train and val, as cameras leave it; one class folder is empty.
void write_plain_classes(const fs::path& folder) {
  constexpr int64_t kSide = 28;
  fs::create_directories(folder / "nothing");
  for (uint64_t i = 0; i < 40; ++i) {
    const RandomStream random(1, i);
    data::Image image{.height = kSide, .width = kSide, .pixels = {}};
    for (uint64_t p = 0; p < 3 * kSide * kSide; ++p) {
      image.pixels.push_back(static_cast<uint8_t>(random.below(p, 128) + (i % 2) * 96));
    }
    const fs::path place = folder / (i % 2 == 0 ? "dark" : "light");
    fs::create_directories(place);
    write_file(place / fmt::format("{}.png", i), data::encode_png(image));
  }
}

TEST(Train, PlainClassFoldersStopEarlyAndExportTheBest) {
  const TemporaryFolder folder("train_cli");
  write_plain_classes(folder / "photos");
  const Words words = {"--data",      folder / "photos",
                       "--augment",   "channels:1,normalize",
                       "--name",      "plain",
                       "--patience",  "2",
                       "--export",    "best",
                       "--epochs",    "12",
                       "--val-split", "0.25"};
  const Outcome refused = run(train_words(folder.path(), words));
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("class folder nothing"), std::string::npos) << refused.err;
  Words skipping = words;
  skipping.emplace_back("--skip-bad-files");
  const Outcome outcome = run(train_words(folder.path(), skipping));
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out, "train");
  const auto best = static_cast<size_t>(json.at("best_epoch").as_int());
  EXPECT_EQ(json.at("exported").as_string(), "best");
  EXPECT_TRUE(json.at("stopped_early").as_bool());
  EXPECT_EQ(json.at("epochs").items().size(), best + 2);
  EXPECT_NE(read_file(folder / "plain/skipped.txt").find("photos/nothing"), std::string::npos);
  // The network that is there afterwards does what the closing line says, on the same images.
  const Outcome judged = run({"evaluate", folder / "plain", "--quiet", "--json"});
  ASSERT_EQ(judged.code, 0) << judged.err;
  const Json scores = Json::parse(judged.out, "evaluate");
  EXPECT_EQ(scores.at("images").as_int(), 10);
  EXPECT_EQ(scores.at("top1").as_number(), json.at("best_top1").as_number());
  EXPECT_NEAR(scores.at("loss").as_number(),
              json.at("epochs").items()[best - 1].at("test_loss").as_number(), 1e-5);
  EXPECT_NE(scores.at("weights_of").as_string().find(fmt::format("epoch {}", best)),
            std::string::npos);
}

TEST(Train, EveryLossIsReached) {
  const TemporaryFolder folder("train_cli");
  for (const std::string loss : {"soft-cross-entropy", "kl", "bce", "mse", "huber", "smooth-l1"}) {
    const Outcome outcome =
        run(train_words(folder.path(), {"--name", loss, "--loss", loss, "--epochs", "1"}));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json epoch = Json::parse(outcome.out, "train").at("epochs").items()[0];
    EXPECT_GT(epoch.at("test_loss").as_number(), 0) << loss;
    EXPECT_GE(epoch.at("top1").as_number(), 0) << loss;
  }
  const Outcome unknown = run(train_words(folder.path(), {"--loss", "hubr"}));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("Did you mean huber"), std::string::npos) << unknown.err;
}

TEST(Train, OneWorkerTakesEveryAllReduce) {
  const TemporaryFolder folder("train_cli");
  for (const std::string algorithm : {"ring", "hierarchical", "mpi"}) {
    const Outcome outcome = run(train_words(
        folder.path(), {"--name", algorithm, "--all-reduce", algorithm, "--epochs", "1"}));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  }
}

TEST(Train, WrongRequestsAreAnsweredAndLeaveNothing) {
  const TemporaryFolder folder("train_cli");
  const fs::path root = folder / "runs";
  const std::pair<Words, const char*> cases[] = {
      {{"--learning-rat", "1"}, "--learning-rate"},
      {{"--learning-rate", "-1"}, "learning_rate is -1"},
      {{"--schedule", "cosin"}, "cosine"},
      {{"--optimizer", "sdg"}, "sgd"},
      {{"--epochs", "0"}, "epochs is 0"},
      {{"--data", "fashion-mist"}, "fashion-mnist"},
      {{"--augment", "flop"}, "flip"},
      {{"--batch", "1000"}, "do not fill one batch"},
      {{"--target-accuracy", "90"}, "0.9 is 90 %"},
  };
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = run(train_words(root, words));
    EXPECT_EQ(outcome.code, 2) << words[0];
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  }
  const fs::path config = folder / "wrong.yaml";
  write_file(config, "epochs: 2\nlearning_rat: 0.1\n");
  const Outcome outcome = run({"train", "--config", config, "--runs-dir", root});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("learning_rate"), std::string::npos) << outcome.err;
  EXPECT_FALSE(fs::exists(root) && !fs::is_empty(root)) << "a refused run left a folder";
}

// Exit code, or -1 if the process was killed after `limit`.
int run_and_kill(const Words& words, std::chrono::milliseconds limit) {
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> arguments = {const_cast<char*>(TY_PROGRAM)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    execv(TY_PROGRAM, arguments.data());
    _exit(127);
  }
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(Train, ARunGoesOnWithItsOwnSettings) {
  const TemporaryFolder folder("train_course");
  ASSERT_EQ(run(train_words(folder.path(), {"--name", "one", "--max-steps", "3"})).code, 0);
  const auto resume = [&](const char* flag, const char* value) {
    return run({"train", "--runs-dir", folder.path(), "--resume", "one", flag, value, "--quiet"});
  };
  const std::string before = read_file(folder / "one/config.yaml");
  const Outcome other = resume("--learning-rate", "0.5");
  EXPECT_EQ(other.code, 2);
  EXPECT_NE(other.err.find("learning_rate: 0.05, asked for: learning_rate: 0.5"), std::string::npos)
      << other.err;
  EXPECT_EQ(read_file(folder / "one/config.yaml"), before);
  // How it is carried out may change.
  EXPECT_EQ(resume("--threads", "1").code, 0);
}

TEST(Train, ARunGoesOnForMoreEpochs) {
  const TemporaryFolder folder("train_longer");
  const Words constant = {"--name", "one", "--schedule", "constant"};
  ASSERT_EQ(run(train_words(folder.path(), constant)).code, 0);
  const auto resume = [&](const char* epochs) {
    return run({"train", "--runs-dir", folder.path(), "--resume", "one", "--epochs", epochs,
                "--quiet", "--json"});
  };
  const Outcome fewer = resume("1");
  EXPECT_EQ(fewer.code, 2);
  EXPECT_NE(fewer.err.find("only more are possible"), std::string::npos) << fewer.err;
  const Outcome longer = resume("3");
  ASSERT_EQ(longer.code, 0) << longer.err;
  EXPECT_EQ(Json::parse(longer.out, "train").at("steps").as_int(), 12);
  // With a constant rate it is what a run of three epochs is.
  ASSERT_EQ(run(train_words(folder.path(),
                            {"--name", "whole", "--schedule", "constant", "--epochs", "3"}))
                .code,
            0);
  EXPECT_EQ(weights(folder / "one"), weights(folder / "whole"));
}

TEST(Train, AFewStepsEndWithTheirLoss) {
  const TemporaryFolder folder("train_steps");
  const Outcome outcome =
      run({"train", "--data", "synthetic:1x28x28,classes=4,size=64", "--batch", "16", "--max-steps",
           "2", "--runs-dir", folder.path(), "--name", "few", "--quiet"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("2 steps and no whole epoch"), std::string::npos) << outcome.out;
  const std::string metrics = read_file(folder / "few/metrics.jsonl");
  const std::string last = metrics.substr(metrics.find('\n') + 1);
  const double loss = Json::parse(last, "metrics").at("loss").as_number();
  EXPECT_NE(outcome.out.find(fmt::format("the last step is {:.4f}.", loss)), std::string::npos)
      << outcome.out << metrics;
  const Outcome reported = run({"report", folder / "few"});
  EXPECT_EQ(reported.code, 0) << reported.err;
  // A page that is there is not overwritten unasked.
  write_file(folder / "few/report.html", "mine");
  EXPECT_EQ(run({"report", folder / "few"}).code, 0);
  EXPECT_EQ(read_file(folder / "few/report.html"), "mine");
}

// What the data were goes with the network, whatever batch it was trained with.
TEST(Train, ATrainedNetworkRunsOnAPictureWithoutFurtherWords) {
  const TemporaryFolder folder("train_run");
  ASSERT_EQ(run(train_words(folder.path(), {"--name", "net", "--epochs", "1"})).code, 0);
  const Json sheet = Json::parse(run({"data", "inspect", "synthetic:1x28x28,classes=4,size=64",
                                      "--sheet", folder / "s.png", "--json"})
                                     .out,
                                 "inspect");
  const Outcome outcome = run({"run", folder / "net", "--input", folder / "s.png", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json top = Json::parse(outcome.out, "run").at("outputs").items()[0].at("top");
  EXPECT_EQ(top.items().size(), 4U);
  EXPECT_FALSE(top.items()[0].at("label").as_string().empty());
  double sum = 0;
  for (const Json& row : top.items()) sum += row.at("probability").as_number();
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(Train, WhatWouldChangeNothingIsRefused) {
  const TemporaryFolder folder("train_silent");
  const std::pair<Words, const char*> cases[] = {
      {{"--freeze", "nope"}, "no name begins with 'nope'"},
      {{"--restarts", "-1"}, "restarts is -1"},
      {{"--elastic"}, "--elastic needs --restarts"},
      {{"--classes", "3"}, "the data has 4"},
      {{"--all-reduce", "foo", "--workers", "2"}, "foo"},
      {{"--resume", ""}, "an empty text"},
  };
  for (const auto& [words, expected] : cases) {
    const Outcome outcome = run(train_words(folder / "runs", words));
    EXPECT_EQ(outcome.code, 2) << words[0];
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  }
  EXPECT_FALSE(fs::exists(folder / "runs")) << "a refused run left a folder";
}

TEST(Train, KilledAtAnyMomentAndResumedItEndsWithTheSameBits) {
  constexpr uint64_t kSeed = 3;
  constexpr std::chrono::seconds kPatience{120};
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const TemporaryFolder folder("train_kill");
  const Words settings = {"--epochs", "12",        "--checkpoint-every",
                          "1",        "--augment", "crop:2,flip,normalize"};
  Words whole = train_words(folder.path(), settings);
  whole.insert(whole.end(), {"--name", "whole"});
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(run_and_kill(whole, kPatience), 0);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);

  const RandomStream random(kSeed);
  int kills = 0;
  int code = -1;
  for (uint64_t i = 0; code != 0 && i < 100; ++i) {
    const bool begun = fs::exists(folder / "killed/config.yaml");
    if (!begun) fs::remove_all(folder / "killed");
    Words words = train_words(folder.path(), settings);
    if (begun) {
      words = {"train", "--runs-dir", folder.path(), "--resume", "killed", "--quiet"};
    } else {
      words.insert(words.end(), {"--name", "killed"});
    }
    // Half of a whole run's time on average, so that some are killed and the run comes to its end.
    const auto limit =
        std::chrono::milliseconds(10 + random.below(i, static_cast<uint64_t>(took.count())));
    code = run_and_kill(words, i < 12 ? limit : kPatience);
    if (code == -1) ++kills;
    ASSERT_TRUE(code == 0 || code == -1) << "exit code " << code;
  }
  EXPECT_EQ(code, 0);
  EXPECT_GT(kills, 0);
  EXPECT_EQ(weights(folder / "whole"), weights(folder / "killed"));
}

}  // namespace
}  // namespace trainyard::cli
