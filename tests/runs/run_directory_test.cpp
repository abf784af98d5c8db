#include "runs/run_directory.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "support/error_message.h"
#include "support/temporary_folder.h"

namespace trainyard::runs {
namespace {

class RunDirectoryTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_{"run_directory_test"};
  std::filesystem::path root_ = folder_ / "runs";
};

TEST_F(RunDirectoryTest, MakesAFolderWithTheMachine) {
  const RunDirectory run = RunDirectory::create(root_, "first", "lenet5", "mnist");
  EXPECT_EQ(run.path(), root_ / "first");
  const Json facts = Json::parse(read_file(run.path() / "machine.json"), "machine.json");
  EXPECT_GE(facts.at("threads").as_int(), 1);
  EXPECT_GT(facts.at("memory_bytes").as_int(), 0);
  EXPECT_FALSE(facts.at("processor").as_string().empty());
  EXPECT_EQ(facts.at("time").as_string().size(), std::string("2020-01-01T00:00:00Z").size());
}

TEST_F(RunDirectoryTest, NeverTakesAnExistingFolder) {
  write_file(RunDirectory::create(root_, "first", "", "").config(), "");
  EXPECT_NE(message_of([&] { RunDirectory::create(root_, "first", "", ""); }).find("`resume`"),
            std::string::npos);
  for (const char* name : {"a/b", "..", "."}) {
    EXPECT_THROW(RunDirectory::create(root_, name, "", ""), Error) << name;
  }
}

// A full disk ends a run before its settings are written: nothing is there to resume.
TEST_F(RunDirectoryTest, TakesTheFolderOfARunThatNeverBegan) {
  { const RunDirectory run = RunDirectory::create(root_, "first", "", ""); }
  EXPECT_EQ(RunDirectory::create(root_, "first", "", "").path(), root_ / "first");
  write_file(root_ / "first/thesis.tex", "");
  const std::string message = message_of([&] { RunDirectory::create(root_, "first", "", ""); });
  EXPECT_NE(message.find("no run"), std::string::npos) << message;
  EXPECT_EQ(message.find("`resume`"), std::string::npos) << message;
}

TEST_F(RunDirectoryTest, NamesRunsByModelDataAndTime) {
  const RunDirectory one = RunDirectory::create(root_, "", "zoo/my net.onnx", "/data/cifar 10/");
  const RunDirectory two = RunDirectory::create(root_, "", "zoo/my net.onnx", "/data/cifar 10/");
  EXPECT_NE(one.path(), two.path());
  EXPECT_TRUE(one.path().filename().string().starts_with("my-net-cifar-10-20")) << one.path();
}

TEST_F(RunDirectoryTest, ResumesByNameOrPath) {
  {
    const RunDirectory run = RunDirectory::create(root_, "first", "", "");
    write_file(run.config(), "");
    EXPECT_NE(message_of([&] { RunDirectory::resume(root_, "first"); }).find("another process"),
              std::string::npos);
  }
  EXPECT_EQ(RunDirectory::resume(root_, "first").path(), root_ / "first");
  EXPECT_EQ(RunDirectory::resume("elsewhere", (root_ / "first").string()).path(), root_ / "first");
  EXPECT_NE(message_of([&] { RunDirectory::resume(root_, "frist"); }).find("Did you mean first?"),
            std::string::npos);
  EXPECT_THROW(RunDirectory::resume(root_, ""), Error);
}

// A folder from somebody else must not have a file of the user cut and written on.
TEST_F(RunDirectoryTest, ResumesNothingThroughLinks) {
  write_file(RunDirectory::create(root_, "first", "", "").config(), "");
  write_file(folder_ / "precious", "mine\n");
  std::filesystem::create_symlink(folder_ / "precious", root_ / "first" / "metrics.jsonl");
  EXPECT_NE(message_of([&] { RunDirectory::resume(root_, "first"); }).find("is a link"),
            std::string::npos);
}

TEST_F(RunDirectoryTest, ARootThatCannotBeIsAFailure) {
  write_file(root_, "a file");
  EXPECT_THROW(RunDirectory::create(root_, "first", "", ""), Failure);
}

TEST_F(RunDirectoryTest, NamesThatAreReservedDiffer) {
  const ReservedName first(root_, "lenet5", "mnist");
  std::string gone;
  {
    const ReservedName second(root_, "lenet5", "mnist");
    gone = second.name();
    EXPECT_NE(first.name(), gone);
  }
  EXPECT_FALSE(std::filesystem::exists(root_ / gone)) << "nobody took it";
  write_file(RunDirectory::create(root_, first.name(), "lenet5", "mnist").config(), "");
  EXPECT_THROW(RunDirectory::create(root_, first.name(), "lenet5", "mnist"), Error);
}

}  // namespace
}  // namespace trainyard::runs
