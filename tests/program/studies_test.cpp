// Studies on top of training, each as a user runs it: small data, real commands, every kind of
// output.
#include <gtest/gtest.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/json.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

constexpr const char* kStudyData = "synthetic:1x28x28,classes=4,size=96";

Json answer(std::vector<std::string> words) {
  words.emplace_back("--json");
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return Json::parse(outcome.out, words[0]);
}

// The same document for people.
std::string text_of(std::vector<std::string> words, const char* format) {
  words.insert(words.end(), {"--format", format});
  const Outcome outcome = run(words);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return outcome.out;
}

bool says(const std::string& text, std::string_view what) {
  return text.find(what) != std::string::npos;
}

class Studies : public testing::Test {
 protected:
  // One trained network for all of them.
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder("studies_cli");
    answer({"train", "--model", "lenet5", "--data", kStudyData, "--epochs", "1", "--batch", "16",
            "--threads", "1", "--runs-dir", folder_->path(), "--name", "one", "--quiet"});
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static TemporaryFolder* folder_;
};

TemporaryFolder* Studies::folder_ = nullptr;

TEST_F(Studies, QuantizeSaysWhatEachStepCosts) {
  const std::string file = *folder_ / "int8.onnx";
  const std::vector<std::string> words = {"quantize",
                                          *folder_ / "one",
                                          "--data",
                                          kStudyData,
                                          "--calibration-images",
                                          "16",
                                          "--parts",
                                          "--sensitivity",
                                          "--sensitivity-images",
                                          "12",
                                          "--bits",
                                          "4",
                                          "--histograms",
                                          "--equalize",
                                          "--correct-biases",
                                          "--time",
                                          "0",
                                          "--quiet",
                                          "-o",
                                          file};
  const Json result = answer(words);
  EXPECT_GT(result.at("float").at("bytes").as_int(), 3 * result.at("int8").at("bytes").as_int());
  EXPECT_TRUE(result.at("float").at("median_ms").is_null());  // nothing was timed
  const auto& layers = result.at("layers").items();
  ASSERT_EQ(layers.size(), 5U);
  for (const Json& layer : layers) {
    EXPECT_GT(layer.at("weight_sqnr_db").as_number(), 30) << layer.at("name").as_string();
    EXPECT_GT(layer.at("sensitivity").as_number(), 0) << layer.at("name").as_string();
  }
  ASSERT_EQ(result.at("bits").items().size(), 2U);  // weights alone, and all
  EXPECT_EQ(run({"check", file}).code, 0);
  const std::string page = text_of(words, "html");
  EXPECT_TRUE(says(page, "weights, activations and biases")) << page.substr(0, 2000);
  EXPECT_TRUE(says(text_of(words, "text"), "conv1"));
}

TEST_F(Studies, QuantizeKeepsWhatWasAskedForInFloat) {
  const Json result = answer({"quantize", *folder_ / "one", "--keep-float", "fc*", "--time", "0",
                              "--data", kStudyData, "--test-images", "0", "--quiet"});
  for (const Json& layer : result.at("layers").items()) {
    const bool linear = layer.at("name").as_string().starts_with("fc");
    EXPECT_EQ(layer.at("kept_float").as_bool(), linear);
    EXPECT_EQ(layer.at("reason").is_null(), !linear);
  }
  const Outcome typo = run(
      {"quantize", *folder_ / "one", "--data", kStudyData, "--keep-float", "conv11", "--quiet"});
  EXPECT_EQ(typo.code, 2);
  EXPECT_TRUE(says(typo.err, "conv1")) << typo.err;
}

// A network of other classes than the data's would be tested on nothing it can know.
TEST_F(Studies, QuantizeRefusesOtherClassesThanThoseOfTheData) {
  for (const char* classes : {"99", "2"}) {
    const Outcome refused = run({"quantize", "lenet5", "--data", kStudyData, "--classes", classes,
                                 "--test-images", "0", "--time", "0", "--quiet"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_TRUE(says(refused.err, std::string("--classes is ") + classes + ", but the data has"))
        << refused.err;
  }
}

TEST_F(Studies, TransferTrainsEachModeOnceAndResumes) {
  const std::vector<std::string> words = {"transfer",         *folder_ / "one",
                                          "--data",           "synthetic:1x28x28,classes=3,size=48",
                                          "--mode",           "features,finetune",
                                          "--learning-rates", "0.1",
                                          "--epochs",         "1",
                                          "--batch",          "8",
                                          "--threads",        "1",
                                          "--runs-dir",       folder_->path(),
                                          "--name",           "moved",
                                          "--quiet"};
  const Json first = answer(words);
  const auto& runs = first.at("runs").items();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_LT(runs[0].at("trained_parameters").as_int(), runs[1].at("trained_parameters").as_int());
  // Nothing is trained again: the measured times are those of the first time.
  const Json second = answer(words);
  for (size_t i = 0; i < runs.size(); ++i) {
    const Json& again = second.at("runs").items()[i];
    EXPECT_FALSE(runs[i].at("was_there").as_bool());
    EXPECT_TRUE(again.at("was_there").as_bool());
    EXPECT_EQ(again.at("epochs").dump(-1), runs[i].at("epochs").dump(-1));
  }
  EXPECT_TRUE(says(text_of(words, "text"), "finetune"));
  std::vector<std::string> longer = words;
  longer[9] = "2";
  const Outcome refused = run(longer);
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(says(refused.err, "another --name")) << refused.err;
}

TEST_F(Studies, DistillationChoosesKPicturesOfEachClass) {
  const std::vector<std::string> words = {"distill",   "--model",    "lenet5",
                                          "--teacher", "lenet5",     "--data",
                                          kStudyData,  "--labeled",  "0.5",
                                          "--k",       "4,8",        "--p",
                                          "1",         "--epochs",   "1",
                                          "--batch",   "8",          "--pretrain-steps",
                                          "4",         "--runs-dir", folder_->path(),
                                          "--name",    "taught",     "--threads",
                                          "1",         "--quiet"};
  const Json result = answer(words);
  EXPECT_EQ(result.at("labeled").as_int(), 48);
  EXPECT_EQ(result.at("unlabeled").as_int(), 48);
  const auto& cells = result.at("cells").items();
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].at("chosen").as_int(), 4 * 4);
  EXPECT_EQ(cells[1].at("chosen").as_int(), 4 * 8);
  EXPECT_TRUE(says(text_of(words, "md"), "| 8 |"));
}

TEST_F(Studies, TimesOfOtherProgramsLogsAreSummarized) {
  const std::string log = *folder_ / "log.csv";
  write_file(log,
             "run,epoch,seconds,accuracy\na,1,10,0.5\na,2,20,0.95\nb,1,12,0.6\nb,2,24,0.96\n"
             "c,1,11,0.4\nc,2,28,0.7\n");
  const std::vector<std::string> words = {"tta",  "--runs",   "0", "--target",
                                          "0.94", "--import", log};
  const Json imported = answer(words).at("imported").items().at(0);
  EXPECT_EQ(imported.at("reached").as_int(), 2);
  EXPECT_EQ(imported.at("censored").as_int(), 1);
  EXPECT_DOUBLE_EQ(imported.at("mean_s").as_number(), 22);
  EXPECT_DOUBLE_EQ(imported.at("mean_at_least_s").as_number(), 24);
  EXPECT_TRUE(says(text_of(words, "text"), "2 of 3 runs reached 94 %"));
}

// A file is a machine: two of them together would vary by what they differ in.
TEST_F(Studies, LogsOfTwoMachinesVaryEachByItself) {
  const std::string slow = *folder_ / "slow.csv";
  const std::string fast = *folder_ / "fast.csv";
  write_file(slow, "run,epoch,seconds,accuracy\na,1,100,0.95\nb,1,102,0.95\n");
  write_file(fast, "run,epoch,seconds,accuracy\na,1,10,0.95\nb,1,10.2,0.95\n");
  const Json imported =
      answer({"tta", "--runs", "0", "--target", "0.94", "--import", slow, "--import", fast})
          .at("imported");
  ASSERT_EQ(imported.items().size(), 2U);
  for (const Json& machine : imported.items()) {
    EXPECT_NEAR(machine.at("cv").as_number(), 0.014, 0.0001) << machine.at("file").as_string();
  }
}

TEST(StudiesOfCurves, LossSpeedAndTimeOfPublishedJobs) {
  const std::vector<std::string> loss = {"optimus", "loss", "published:resnet20", "--target",
                                         "0.9"};
  const Json fitted = answer(loss);
  EXPECT_EQ(fitted.at("points").as_int(), 200);
  EXPECT_GE(fitted.at("stages").items().size(), 2U);
  EXPECT_EQ(fitted.at("target_basis").as_string(), "measured");
  EXPECT_TRUE(says(text_of(loss, "text"), "Accuracy 0.9 at epoch"));
  const std::vector<std::string> speed = {"optimus", "speed", "published:resnet-50", "--relative"};
  EXPECT_LT(answer(speed).at("mape").as_number(), 0.2);
  EXPECT_TRUE(says(text_of(speed, "html"), "<h1>"));
  const Json time =
      answer({"optimus", "time", "--loss", "published:resnet20", "--speed", "published:resnext-110",
              "--target", "0.91", "--servers", "2,4", "--workers", "1..4"});
  ASSERT_EQ(time.at("points").items().size(), 8U);
  for (const Json& point : time.at("points").items()) {
    EXPECT_LE(point.at("low_s").as_number(), point.at("seconds").as_number());
    EXPECT_LE(point.at("seconds").as_number(), point.at("high_s").as_number());
  }
}

TEST(StudiesOfClusters, PoliciesSideBySide) {
  const std::vector<std::string> words = {"schedule", "optimus:8", "--policies", "optimus,fifo"};
  const Json result = answer(words);
  ASSERT_EQ(result.at("policies").items().size(), 2U);
  for (const Json& policy : result.at("policies").items()) {
    EXPECT_EQ(policy.at("jobs").items().size(), 8U);
    EXPECT_GT(policy.at("utilization").as_number(), 0);
    EXPECT_LE(policy.at("utilization").as_number(), 1);
    EXPECT_LE(policy.at("avg_jct").as_number(), policy.at("makespan").as_number());
  }
  EXPECT_TRUE(says(text_of(words, "html"), "fifo"));
  const Json decided =
      answer({"schedule", "decide", "--policies", "optimus", "--jobs", "50", "--nodes", "20"});
  EXPECT_GT(decided.at("decisions").items()[0].at("tasks").as_int(), 0);
}

TEST_F(Studies, ATableLearnsAndPlays) {
  const Json trained =
      answer({"rl", "train", "--env", "cliffwalking", "--agent", "q-learning", "--steps", "500",
              "--eval-episodes", "2", "--runs-dir", folder_->path(), "--name", "cliff", "--quiet"});
  EXPECT_EQ(trained.at("runs").items()[0].at("steps").as_int(), 500);
  const std::filesystem::path settings = *folder_ / "cliff/config.yaml";
  const std::string before = read_file(settings);
  const Outcome refused = run({"rl", "train", "--resume", *folder_ / "cliff", "--quiet", "--env",
                               "frozenlake", "--gamma", "0.5"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(says(refused.err, "gamma: 1, asked for: gamma: 0.5")) << refused.err;
  EXPECT_EQ(read_file(settings), before) << "nothing is lost";
  EXPECT_GT(answer({"rl", "list"}).at("environments").items().size(), 5U);
  EXPECT_TRUE(says(text_of({"rl", "list"}, "text"), "CartPole-v1"));
}

// No episode of it ends with its first step.
TEST_F(Studies, OneStepHasNoReturnYet) {
  const std::vector<std::string> words = {
      "rl", "train",           "--env", "cliffwalking", "--agent",       "q-learning", "--steps",
      "1",  "--eval-episodes", "1",     "--runs-dir",   folder_->path(), "--quiet",    "--name"};
  const auto train = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> line = words;
    line.push_back(name);
    line.insert(line.end(), more.begin(), more.end());
    return run(line);
  };
  const Outcome outcome = train("first-step", {});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_FALSE(says(outcome.out, "nan")) << outcome.out;
  const Json data = Json::parse(train("first-step-again", {"--json"}).out, "rl train");
  EXPECT_TRUE(data.at("runs").items()[0].at("recent_return").is_null());
}

// A run or a file of a stranger.
TEST_F(Studies, CommandsInFilesAreStartedOnlyIfAllowed) {
  const std::string run_folder = *folder_ / "stranger";
  const std::string witness = *folder_ / "started";
  std::filesystem::create_directories(run_folder);
  const std::string settings = run_folder + "/config.yaml";
  write_file(settings, fmt::format("env: \"exec:touch {}\"\nagent: dqn\n", witness));
  const std::vector<std::vector<std::string>> lines = {
      {"rl", "evaluate", run_folder},
      {"rl", "play", run_folder},
      {"rl", "train", "--resume", run_folder, "--quiet"},
      {"rl", "train", "--config", settings, "--runs-dir", folder_->path(), "--quiet"},
      {"rl", "bench", "--config", settings}};
  for (std::vector<std::string> line : lines) {
    const Outcome refused = run(line);
    EXPECT_EQ(refused.code, 2) << line[1];
    EXPECT_TRUE(says(refused.err, "would start the program 'touch " + witness + "'; --allow-exec"))
        << refused.err;
    EXPECT_FALSE(std::filesystem::exists(witness)) << line[1];
  }
  std::vector<std::string> allowed = lines[0];
  allowed.emplace_back("--allow-exec");
  run(allowed);
  EXPECT_TRUE(std::filesystem::exists(witness));
}

// As a process: it starts its own program again.
Outcome start_program(std::vector<std::string> words) {
  words.insert(words.begin(), TY_PROGRAM);
  words.emplace_back("--json");
  const TemporaryFolder folder("search_errors");
  const ChildProcess process(words, {.log = folder / "err"});
  Outcome outcome;
  while (process.read_some(outcome.out, 1000)) {
  }
  outcome.code = process.wait();
  outcome.err = read_file(folder / "err");
  return outcome;
}

TEST_F(Studies, SearchTriesSettingsAndResumes) {
  const std::vector<std::string> words = {"search",
                                          "--space",
                                          "learning-rate=log:1e-3..1e-1,optimizer=sgd|adamw",
                                          "--data",
                                          kStudyData,
                                          "--trials",
                                          "3",
                                          "--scheduler",
                                          "asha",
                                          "--eta",
                                          "2",
                                          "--epochs",
                                          "2",
                                          "--batch",
                                          "16",
                                          "--threads",
                                          "1",
                                          "--runs-dir",
                                          folder_->path(),
                                          "--name",
                                          "search",
                                          "--quiet"};
  const auto found = [](const std::vector<std::string>& line) {
    const Outcome outcome = start_program(line);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return Json::parse(outcome.out, "search");
  };
  const Json first = found(words);
  ASSERT_EQ(first.at("trials").items().size(), 3U);
  EXPECT_GE(first.at("trained_to_the_end").as_int(), 1);
  EXPECT_TRUE(std::filesystem::exists(*folder_ / "search/report.html"));
  const std::filesystem::path best = first.at("best_run").as_string();
  const auto written = std::filesystem::last_write_time(best / "model.onnx");
  EXPECT_EQ(found(words).at("best_trial").as_int(), first.at("best_trial").as_int());
  EXPECT_EQ(std::filesystem::last_write_time(best / "model.onnx"), written)
      << "nothing is trained again";
  std::vector<std::string> other = words;
  other[2] = "learning-rate=log:1e-3..1e-2";
  const Outcome refused = start_program(other);
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(says(refused.err, "another --name")) << refused.err;
}

TEST_F(Studies, LabsOfFilesStartNothingAndWriteInTheirFolder) {
  const auto lab = [&](const std::string& command, const std::vector<std::string>& more) {
    const std::string file = *folder_ / "stranger.yaml";
    write_file(file, fmt::format("title: T\nquestion: Q?\ntime: {{quick: 1 s, full: 1 s}}\n"
                                 "steps:\n  - name: one\n    run: {}\nreport:\n  - text: done\n",
                                 command));
    std::vector<std::string> line = {"lab", "run", file, "--runs-dir", *folder_ / "labs"};
    line.insert(line.end(), more.begin(), more.end());
    return run(line);
  };
  const std::string witness = *folder_ / "started-by-a-lab";
  const Outcome refused = lab(fmt::format("rl bench --env 'exec:touch {}'", witness), {});
  EXPECT_EQ(refused.code, 2);
  EXPECT_TRUE(says(refused.err, "step 'one' of this lab would start programs of its own (exec:"))
      << refused.err;
  EXPECT_EQ(lab("rl evaluate somewhere --allow-exec", {}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(witness));
}

}  // namespace
}  // namespace trainyard::cli
