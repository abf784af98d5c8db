#include "base/file.h"

#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/file_size_limit.h"

namespace trainyard {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  FileTest()
      : folder_(fs::temp_directory_path() / ("trainyard_file_test." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~FileTest() override { fs::remove_all(folder_); }
  size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(FileTest, WritesAndReads) {
  write_file(folder_ / "a", "hello");
  EXPECT_EQ(read_file(folder_ / "a"), "hello");
  const MappedFile mapped(folder_ / "a");
  EXPECT_EQ(mapped.bytes().size(), 5U);
  EXPECT_THROW(read_file(folder_ / "a", 4), Error);
}

TEST_F(FileTest, AnAbandonedWriteLeavesTheOldFileAndNothingElse) {
  write_file(folder_ / "a", "old");
  {
    AtomicFile file(folder_ / "a");
    file.write("new and unfinished");
  }
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, AppendsBehindWhatIsThereAndTakesBackWhatDoesNotFit) {
  { AppendFile(folder_ / "a").append("one\n"); }
  AppendFile file(folder_ / "a");
  file.append("two\n");
  EXPECT_EQ(read_file(folder_ / "a"), "one\ntwo\n");
  {
    const FileSizeLimit limit(10);
    EXPECT_THROW(file.append("three\n"), Failure);
  }
  EXPECT_EQ(read_file(folder_ / "a"), "one\ntwo\n");
  file.append("four\n");
  EXPECT_EQ(read_file(folder_ / "a"), "one\ntwo\nfour\n");
  EXPECT_THROW(AppendFile(folder_ / "no" / "folder"), Failure);
}

TEST_F(FileTest, AFullDiskLeavesTheOldFileAndNothingElse) {
  write_file(folder_ / "a", "old");
  {
    const FileSizeLimit limit(10);
    EXPECT_THROW(write_file(folder_ / "a", std::string(100, 'x')), Failure);
  }
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FileTest, ReleasedPagesAreReadAgainAndOtherMemoryIsLeftAlone) {
  constexpr size_t kBytes = 1 << 16;
  write_file(folder_ / "a", std::string(kBytes, 'x'));
  const MappedFile mapped(folder_ / "a");
  release_mapped_pages(mapped.bytes().data(), kBytes);
  EXPECT_EQ(static_cast<char>(mapped.bytes()[kBytes / 2]), 'x');
  const std::string own(kBytes, 'y');
  release_mapped_pages(own.data(), own.size());
  EXPECT_EQ(own[kBytes / 2], 'y');
}

// Readers may be anywhere, and SIGBUS says nothing.
TEST_F(FileTest, AMappedFileThatBecomesShorterIsNamed) {
  constexpr size_t kBytes = 1 << 16;
  write_file(folder_ / "weights", std::string(kBytes, 'x'));
  const auto read_the_end = [&] {
    const MappedFile mapped(folder_ / "weights");
    fs::resize_file(folder_ / "weights", 10);
    return static_cast<int>(mapped.bytes()[kBytes - 1]);
  };
  EXPECT_EXIT(std::exit(read_the_end()), ::testing::ExitedWithCode(1), "weights: became shorter");
}

TEST_F(FileTest, SaysWhatIsWrong) {
  EXPECT_THROW(read_file(folder_ / "missing"), Error);
  EXPECT_THROW(read_file(folder_), Error);
  EXPECT_THROW(write_file(folder_ / "no" / "folder", "x"), Failure);
}

// Opening a pipe waits for its other end, and a read of /dev/zero never ends.
TEST_F(FileTest, OnlyRegularFilesAreOpened) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const fs::path& path : {folder_ / "pipe", fs::path("/dev/zero"), folder_}) {
    EXPECT_THROW(read_file(path), Error) << path;
    EXPECT_THROW(MappedFile{path}, Error) << path;
  }
  EXPECT_THROW(AppendFile(folder_ / "pipe"), std::runtime_error);
  EXPECT_THROW(AppendFile("/dev/null"), Error);
}

// As root a new file in place of /dev/null would break every other program.
TEST_F(FileTest, NothingIsWrittenInPlaceOfAPipe) {
  const fs::path path = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THROW(write_file(path, "x"), Error);
  EXPECT_TRUE(fs::is_fifo(path));
  EXPECT_EQ(entries(), 1U);
}

}  // namespace
}  // namespace trainyard
