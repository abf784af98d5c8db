// Tables as people use them: look, train, evaluate, foretell rows of a file, and what is refused.
#include <map>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "models/onnx/export.h"
#include "models/onnx/metadata.h"
#include "models/table_input.h"
#include "models/zoo/model.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

using Words = std::vector<std::string>;

const std::string kHouses = std::string("csv:") + TY_TABLE_DIR + "/houses.csv,target=price";
const std::string kFlowers = std::string("csv:") + TY_TABLE_DIR + "/flowers.csv,target=kind";

class TableCommands : public testing::Test {
 protected:
  // `more` are flags with values, which win.
  Outcome train(const std::string& spec, const Words& more = {}) const {
    std::map<std::string, std::string> flags = {
        {"--model", "mlp"},          {"--data", spec},
        {"--width", "0.2"},          {"--epochs", "40"},
        {"--batch", "16"},           {"--optimizer", "adamw"},
        {"--threads", "1"},          {"--name", "run"},
        {"--learning-rate", "0.01"}, {"--runs-dir", folder_.path().string()}};
    for (size_t i = 0; i + 1 < more.size(); i += 2) flags[more[i]] = more[i + 1];
    Words words = {"train", "--quiet", "--json"};
    for (const auto& [flag, value] : flags) words.insert(words.end(), {flag, value});
    return run(words);
  }
  std::string run_folder() const { return (folder_.path() / "run").string(); }
  std::string write(const std::string& text) const {
    write_file(folder_.path() / "new.csv", text);
    return (folder_.path() / "new.csv").string();
  }
  static Json last_epoch(const Outcome& outcome) {
    return Json::parse(outcome.out, "train").at("epochs").items().back();
  }

  TemporaryFolder folder_{"table_commands"};
};

TEST_F(TableCommands, ForetellNumbers) {
  const auto trained = train(kHouses);
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json epoch = last_epoch(trained);
  // Straight lines reach 0.93 on these rows; the price is curved.
  EXPECT_GT(epoch.at("r2").as_number(), 0.95);
  EXPECT_LT(epoch.at("absolute_error").as_number(), 20);
  EXPECT_FALSE(std::filesystem::exists(run_folder() + "/classes.txt"));

  const auto tested = run({"evaluate", run_folder(), "--quiet", "--json", "--threads", "1"});
  ASSERT_EQ(tested.code, 0) << tested.err;
  const Json scores = Json::parse(tested.out, "evaluate");
  EXPECT_EQ(scores.at("rows").as_int(), 48);
  for (const char* name : {"r2", "rmse", "absolute_error"}) {
    EXPECT_NEAR(scores.at(name).as_number(), epoch.at(name).as_number(), 1e-3) << name;
  }
  EXPECT_NEAR(scores.at("loss").as_number(), epoch.at("test_loss").as_number(), 1e-5);

  // Raw rows, in another order of columns, with cells that are missing or new.
  const std::string file = write(
      "district,area,rooms,age,heating\n"
      "\"west, by the river\",150,5,10,gas\nsouth,60,2,,coal\n");
  const auto shown = run({"run", run_folder(), "--input", file, "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const Json foretold = Json::parse(shown.out, "run").at("outputs").items()[0].at("foretold");
  ASSERT_EQ(foretold.items().size(), 2U);
  // By the formula of make_tables.py: 498 and some 60 to 120 for an age that is not known.
  EXPECT_NEAR(foretold.items()[0].as_number(), 498, 50);
  EXPECT_NEAR(foretold.items()[1].as_number(), 80, 60);
}

TEST_F(TableCommands, ForetellClasses) {
  const auto trained = train(kFlowers, {"--epochs", "20"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_GT(last_epoch(trained).at("top1").as_number(), 0.9);
  const auto tested = run({"evaluate", run_folder(), "--quiet", "--json", "--threads", "1"});
  ASSERT_EQ(tested.code, 0) << tested.err;
  EXPECT_EQ(Json::parse(tested.out, "evaluate").at("top1").as_number(),
            last_epoch(trained).at("top1").as_number());
  const auto shown =
      run({"run", run_folder(), "--input", write("5.0,3.4,1.5\n6.7,3.0,5.6\n"), "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const Json foretold = Json::parse(shown.out, "run").at("outputs").items()[0].at("foretold");
  EXPECT_EQ(foretold.items()[0].at("label").as_string(), "aster");
  EXPECT_EQ(foretold.items()[1].at("label").as_string(), "crocus");
}

TEST_F(TableCommands, TrainOthersNetworksAndTheirOwnAgain) {
  // A file with a head of one number and no word of tables, whose input is as wide as a row.
  const std::string file = (folder_.path() / "head.onnx").string();
  onnx_io::ExportOptions options;
  options.batch_name = "batch";
  onnx_io::export_model(models::build_model("mlp", {.classes = 1, .rows = 11, .width = 0.2}), file,
                        options);
  const auto trained = train(kHouses, {"--model", file, "--loss", "huber", "--width", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_GT(last_epoch(trained).at("r2").as_number(), 0.9);
  const auto metadata = onnx_io::read_metadata(run_folder() + "/model.onnx");
  ASSERT_TRUE(network::table_of(metadata).has_value());
  // Its own file takes raw rows, so nothing is put in front a second time.
  const auto again =
      train(kHouses, {"--model", run_folder() + "/model.onnx", "--width", "1", "--name", "again",
                      "--epochs", "1", "--learning-rate", "0.001"});
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_GT(last_epoch(again).at("r2").as_number(), 0.9);
}

// The note of the file and its input may come from different hands.
TEST_F(TableCommands, RefuseRowsOfAnotherWidth) {
  const auto trained = train(kFlowers, {"--epochs", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const std::string file = (folder_.path() / "wide.onnx").string();
  onnx_io::ExportOptions options;
  options.batch_name = "batch";
  options.metadata = onnx_io::read_metadata(run_folder() + "/model.onnx");
  onnx_io::export_model(models::build_model("mlp", {.classes = 3, .rows = 5, .width = 0.2}), file,
                        options);
  const auto refused = run({"run", file, "--input", write("5.0,3.4,1.5\n")});
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.err.find("a row becomes 3 numbers, but input"), std::string::npos)
      << refused.err;
}

TEST_F(TableCommands, WorkersAndResumedRunsAgree) {
  const auto one = train(kHouses, {"--epochs", "2"});
  ASSERT_EQ(one.code, 0) << one.err;
  const auto stopped = train(kHouses, {"--name", "half", "--epochs", "2", "--stop-epoch", "1"});
  ASSERT_EQ(stopped.code, 0) << stopped.err;
  const auto resumed = run({"train", "--quiet", "--json", "--resume",
                            (folder_.path() / "half").string(), "--stop-epoch", "0"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(last_epoch(resumed).at("r2").as_number(), last_epoch(one).at("r2").as_number());
}

TEST_F(TableCommands, RefuseWhatMakesNoSense) {
  EXPECT_EQ(train(kHouses, {"--loss", "cross-entropy", "--data", kHouses + ",task=classes"}).code,
            2);
  EXPECT_EQ(train(kFlowers, {"--loss", "mse"}).code, 2) << "kinds are no numbers";
  EXPECT_EQ(train(kHouses, {"--model", "lenet5", "--width", "1"}).code, 2);
  EXPECT_EQ(train(kHouses, {"--augment", "flip"}).code, 2);
  EXPECT_EQ(train(kHouses, {"--mixup", "0.2"}).code, 2);
  EXPECT_EQ(train(kFlowers, {"--classes", "2"}).code, 2);
  EXPECT_EQ(run({"run", "mlp", "--input", write("1,2\n3,4\n")}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(run_folder()));
}

TEST_F(TableCommands, Inspect) {
  const auto shown = run({"data", "inspect", kHouses, "--json"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const Json json = Json::parse(shown.out, "inspect");
  EXPECT_EQ(json.at("width").as_int(), 11);
  EXPECT_EQ(json.at("notes").items().size(), 2U);
  EXPECT_EQ(run({"data", "inspect", kFlowers}).code, 0);
}

}  // namespace
}  // namespace trainyard::cli
