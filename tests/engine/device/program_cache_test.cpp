#include "engine/device/program_cache.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace trainyard::device {
namespace {

class ProgramCacheTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  // One for each case: cases run at the same time.
  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                  (std::string("program_cache_") +
                                   testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ProgramCacheTest, GivesBackWhatWasStored) {
  const ProgramCache cache(folder_);
  EXPECT_FALSE(cache.find("a"));
  const std::string program("bytes\n\0 with zeros", 18);
  cache.store("a", program);
  EXPECT_EQ(cache.find("a"), program);
  EXPECT_FALSE(cache.find("b"));
}

TEST_F(ProgramCacheTest, TakesNoFileThatIsNotWhole) {
  const ProgramCache cache(folder_);
  cache.store("a", "a program");
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
  }
  EXPECT_FALSE(cache.find("a"));
  cache.store("a", "a program");
  EXPECT_EQ(cache.find("a"), "a program");
}

TEST_F(ProgramCacheTest, AFolderThatCannotBeMadeIsNoError) {
  std::ofstream(folder_) << "a file";
  const ProgramCache cache(folder_ / "below");
  cache.store("a", "a program");
  EXPECT_FALSE(cache.find("a"));
}

// What lies there would run with the rights of this user.
TEST_F(ProgramCacheTest, TakesNothingFromAFolderThatOthersWrite) {
  using std::filesystem::perms;
  const ProgramCache cache(folder_);
  cache.store("a", "a program");
  EXPECT_EQ(std::filesystem::status(folder_).permissions(), perms::owner_all);
  const auto found_with = [&](perms mode) {
    std::filesystem::permissions(folder_, mode);
    return cache.find("a").has_value();
  };
  EXPECT_FALSE(found_with(perms::all));
  EXPECT_FALSE(found_with(perms::owner_all | perms::group_write));
  cache.store("b", "another");
  EXPECT_TRUE(found_with(perms::owner_all));
  EXPECT_FALSE(cache.find("b"));
  const std::filesystem::path link = folder_.string() + ".link";
  std::filesystem::remove(link);
  std::filesystem::create_symlink(folder_, link);
  EXPECT_FALSE(ProgramCache(link).find("a"));
}

TEST_F(ProgramCacheTest, NoFolderKeepsNothing) {
  const ProgramCache cache{std::filesystem::path()};
  cache.store("a", "a program");
  EXPECT_FALSE(cache.find("a"));
}

}  // namespace
}  // namespace trainyard::device
