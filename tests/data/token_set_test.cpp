#include "data/text/token_set.h"

#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/loader.h"
#include "data/subsets.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

class TokenSetTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  template <typename Id>
  std::string write(const std::string& name, const std::vector<Id>& ids) const {
    const fs::path path = folder_ / name;
    write_file(path, {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(Id)});
    return path.string();
  }
  template <typename Id>
  std::vector<Id> counted(int64_t count) const {
    std::vector<Id> ids(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), Id{0});
    return ids;
  }
  static std::string message(const std::string& spec, int64_t length = 0) {
    try {
      open_dataset(spec, Split::kTrain, {.length = length});
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing is wrong";
  }

  fs::path folder_ = fs::path(testing::TempDir()) / "token_set_test";
};

struct Row {
  std::vector<int64_t> now;
  std::vector<int64_t> next;
};
Row row_of(const Dataset& set, int64_t index) {
  const auto length = static_cast<size_t>(set.tokens()->length);
  Row row{std::vector<int64_t>(length), std::vector<int64_t>(length)};
  set.read_tokens(index, row.now, row.next);
  return row;
}

TEST_F(TokenSetTest, CutsAFileIntoWindowsAndSplits) {
  for (const bool wide : {false, true}) {
    const std::string file =
        wide ? write("a.bin", counted<uint32_t>(100)) : write("a.bin", counted<uint16_t>(100));
    const std::string spec = "tokens:" + file + ",test=0.2" + (wide ? ",type=u32" : "");
    const auto train = open_dataset(spec, Split::kTrain, {.length = 8});
    const auto test = open_dataset(spec, Split::kTest, {.length = 8});
    EXPECT_EQ(train->size(), 9);  // 80 tokens: 9 windows of 8 and one behind
    EXPECT_EQ(test->size(), 2);
    EXPECT_EQ(train->target_kind(), TargetKind::kTokens);
    EXPECT_EQ(train->tokens()->vocabulary, 100);
    EXPECT_EQ(row_of(*train, 2).now, (std::vector<int64_t>{16, 17, 18, 19, 20, 21, 22, 23}));
    EXPECT_EQ(row_of(*train, 2).next, (std::vector<int64_t>{17, 18, 19, 20, 21, 22, 23, 24}));
    EXPECT_EQ(row_of(*test, 0).now[0], 80);
  }
}

TEST_F(TokenSetTest, TakesTheBytesOfAnyFileAsTokens) {
  write_file(folder_ / "a.txt", "\xc3\xa4 text of bytes");
  const auto set = open_dataset("tokens:" + (folder_ / "a.txt").string() + ",type=u8,test=0",
                                Split::kTrain, {.length = 4});
  EXPECT_EQ(row_of(*set, 0).now, (std::vector<int64_t>{0xc3, 0xa4, ' ', 't'}));
  EXPECT_EQ(set->tokens()->vocabulary, 256);
  EXPECT_EQ(set->tokens()->bytes_per_token, 1);
  EXPECT_EQ(set->tokens()->tokenizer, kByteTokens);
}

TEST_F(TokenSetTest, ReadsAFolderAsNanoGptWritesIt) {
  write("train.bin", std::vector<uint16_t>{1, 2, 3, 4, 5});
  write("val.bin", std::vector<uint16_t>{9, 8, 7});
  const std::string spec = "tokens:" + folder_.string();
  EXPECT_EQ(row_of(*open_dataset(spec, Split::kTest, {.length = 2}), 0).next,
            (std::vector<int64_t>{8, 7}));
  // Both splits know the ids of both.
  EXPECT_EQ(open_dataset(spec, Split::kTrain, {.length = 2})->tokens()->vocabulary, 10);
}

TEST_F(TokenSetTest, RowsMayHaveClasses) {
  const std::string file = write("a.bin", counted<uint16_t>(40));
  const std::string labels =
      write("labels.bin", std::vector<uint16_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 1});
  const std::string spec = "tokens:" + file + ",test=0.2,labels=" + labels;
  EXPECT_TRUE(names_option(spec, "labels"));
  const auto test = open_dataset(spec, Split::kTest, {.length = 4});
  EXPECT_EQ(open_dataset(spec, Split::kTrain, {.length = 4})->size(), 8);
  EXPECT_EQ(test->size(), 2);
  EXPECT_EQ(test->target_kind(), TargetKind::kClass);
  EXPECT_EQ(test->num_classes(), 3);
  EXPECT_EQ(test->label(1), 1);
  std::vector<int64_t> now(4);
  test->read_tokens(1, now, {});
  EXPECT_EQ(now, (std::vector<int64_t>{36, 37, 38, 39}));
  EXPECT_NE(message(spec, 5).find("40 tokens are no 10 rows of 5"), std::string::npos);
}

TEST_F(TokenSetTest, SaysWhatIsWrong) {
  const std::string file = write("a.bin", counted<uint16_t>(100));
  const std::string spec = "tokens:" + file;
  EXPECT_NE(message(spec + ",vocab=50", 4)
                .find("token 50 at place 50 is outside of the vocabulary "
                      "of 50"),
            std::string::npos);
  EXPECT_NE(message(spec, 200).find("has 90 tokens, and a row of length 200 needs 201"),
            std::string::npos);
  EXPECT_NE(message(spec + ",length=4", 8).find("length is 8, but"), std::string::npos);
  EXPECT_NE(message(spec + ",end=100,vocab=100", 4).find("outside of the vocabulary of 100"),
            std::string::npos);
  EXPECT_NE(message(spec + ",type=u64").find("expected u8, u16 or u32"), std::string::npos);
  EXPECT_NE(message(spec + ",vocabulary=7").find("there is no option"), std::string::npos);
  EXPECT_NE(message("tokens:" + (folder_ / "none").string()).find("none"), std::string::npos);
  EXPECT_NE(message("tokens:" + folder_.string()).find("train.bin"), std::string::npos);
  write_file(folder_ / "odd.bin", "abc");
  EXPECT_NE(message("tokens:" + (folder_ / "odd.bin").string()).find("no whole number"),
            std::string::npos);
  write_file(folder_ / "empty.bin", "");
  EXPECT_NE(message("tokens:" + (folder_ / "empty.bin").string()).find("empty"), std::string::npos);
  EXPECT_NE(message("synthetic", 8).find("has none"), std::string::npos);
}

// What the workers of a round get together does not depend on how many they are.
TEST_F(TokenSetTest, WorkersShareTheRowsOfOneOrder) {
  const auto set =
      make_token_set(TokenRow(counted<uint32_t>(101)), {.length = 5, .vocabulary = 101}, "numbers");
  const auto rows = [&](int64_t world, int64_t first) {
    std::vector<std::vector<int64_t>> rounds(5);
    for (int64_t rank = 0; rank < world; ++rank) {
      Loader loader(*set, {.batch = 4 / world,
                           .shuffle = true,
                           .seed = 7,
                           .rank = rank,
                           .world = world,
                           .drop_last = true});
      loader.start_epoch(3, first);
      while (const Batch* batch = loader.next()) {
        const auto now = batch->tokens.values<int64_t>();
        const auto next = batch->next.values<int64_t>();
        for (size_t i = 0; i < now.size(); ++i) EXPECT_EQ(next[i], now[i] + 1);
        auto& round = rounds[static_cast<size_t>(batch->index)];
        round.insert(round.end(), now.begin(), now.end());
      }
    }
    return rounds;
  };
  const auto alone = rows(1, 0);
  EXPECT_EQ(alone[0].size(), 20U);
  EXPECT_NE(alone[0][0], 0);
  EXPECT_EQ(rows(2, 0), alone);
  EXPECT_EQ(rows(4, 2)[3], alone[3]);
}

TEST_F(TokenSetTest, AShortBatchEndsInTokensThatDoNotCount) {
  const auto set =
      make_token_set(TokenRow(counted<uint32_t>(11)), {.length = 5, .vocabulary = 11}, "numbers");
  Loader loader(*set, {.batch = 3});
  loader.start_epoch(0);
  const Batch* batch = loader.next();
  EXPECT_EQ(batch->valid, 2);
  EXPECT_TRUE(batch->images.empty());
  EXPECT_EQ(batch->input().shape(), (Shape{3, 5}));
  EXPECT_EQ(batch->next.values<int64_t>()[10], kNoLabel);
  EXPECT_THROW(Loader(*set, {.batch = 1, .augmentations = "normalize"}), Error);
  EXPECT_EQ(choose_evenly(*set, 1, 1).size(), 1U);
}

}  // namespace
}  // namespace trainyard::data
