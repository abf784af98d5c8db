#include "data/text/text_set.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/text/token_text.h"
#include "data/text/tokenizer.h"

namespace trainyard::data {
namespace {

std::filesystem::path text_scratch(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "trainyard_text_set_test" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<int64_t> row_of(const Dataset& set, int64_t index) {
  std::vector<int64_t> now(static_cast<size_t>(set.tokens()->length));
  std::vector<int64_t> next(now.size());
  set.read_tokens(index, now, next);
  return now;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(TextSet, BytesOfOneFileAreSplitByShare) {
  const auto file = text_scratch("one") / "a.txt";
  write_file(file, repeated("abcd efgh ", 100));
  const std::string spec = "text:" + file.string() + ",length=10";
  const auto train = open_dataset(spec, Split::kTrain);
  const auto test = open_dataset(spec, Split::kTest);
  EXPECT_EQ(train->tokens()->vocabulary, 256);
  EXPECT_EQ(train->tokens()->end_of_text, kNoToken);
  EXPECT_EQ(train->tokens()->bytes_per_token, 1);
  EXPECT_EQ(train->size(), 90);
  EXPECT_EQ(test->size(), 9);
  EXPECT_EQ(row_of(*train, 0),
            (std::vector<int64_t>{'a', 'b', 'c', 'd', ' ', 'e', 'f', 'g', 'h', ' '}));
  EXPECT_TRUE(names_tokens(spec));
}

TEST(TextSet, DocumentsEndAndFilesSplit) {
  const auto folder = text_scratch("files");
  write_file(folder / "train.jsonl", repeated("{\"text\": \"ab\"}\n", 20));
  write_file(folder / "val.txt", "ccba");
  const std::string spec = "text:" + folder.string() + ",length=3,tokenizer=chars";
  const auto train = open_dataset(spec, Split::kTrain);
  EXPECT_EQ(train->tokens()->vocabulary, 4);
  EXPECT_EQ(train->tokens()->end_of_text, 3);
  EXPECT_EQ(row_of(*train, 0), (std::vector<int64_t>{0, 1, 3}));
  EXPECT_DOUBLE_EQ(train->tokens()->bytes_per_token, 2.0 / 3);
  const auto test = open_dataset(spec, Split::kTest);
  EXPECT_EQ(row_of(*test, 0), (std::vector<int64_t>{2, 2, 1}));
  const auto tokenizer = parse_tokenizer_json(train->tokens()->tokenizer_json, "kept");
  EXPECT_EQ(tokenizer->decode(std::vector<TokenId>{2, 0}), "ca");
}

TEST(TextSet, ATestFileMayBeNamed) {
  const auto folder = text_scratch("named");
  write_file(folder / "a.txt", "aaaaaaaa");
  write_file(folder / "b.txt", "bbbbbbbb");
  const std::string spec =
      "text:" + (folder / "a.txt").string() + ",length=4,test=" + (folder / "b.txt").string();
  EXPECT_EQ(row_of(*open_dataset(spec, Split::kTrain), 0), (std::vector<int64_t>(4, 'a')));
  EXPECT_EQ(row_of(*open_dataset(spec, Split::kTest), 0), (std::vector<int64_t>(4, 'b')));
}

TEST(TokenText, ReadsAndWritesWithTheTokenizerOfTheSet) {
  const std::vector<std::string_view> texts = {"abc"};
  const TokenText kept(
      TokenFacts{.tokenizer = "tokenizer.json",
                 .tokenizer_json = make_character_tokenizer(texts)->json().dump()});
  EXPECT_EQ(kept.encode("cab"), (std::vector<int64_t>{2, 0, 1}));
  EXPECT_EQ(kept.decode(std::vector<int64_t>{2, 0, 99}), "ca");  // a row of no token
  const auto file = text_scratch("kept") / "tok.json";
  write_file(file, make_character_tokenizer(texts)->json().dump());
  EXPECT_EQ(TokenText(file.string()).decode(std::vector<int64_t>{1}), "b");
  EXPECT_EQ(TokenText("bytes").encode("\u00e9"), (std::vector<int64_t>{0xc3, 0xa9}));
  EXPECT_EQ(TokenText("").decode(std::vector<int64_t>{3, 14}), "3 14");
  EXPECT_THROW(TokenText("missing.json"), Error);
}

TEST(TextSet, SharesTakeWholeDocuments) {
  const std::vector<std::string_view> documents = {"aaaa", "bbbb", "cccc", "dddd", "eeee"};
  EXPECT_EQ(split_documents(documents, 0.2, Split::kTest), (std::vector<std::string_view>{"eeee"}));
  EXPECT_EQ(split_documents(documents, 0.5, Split::kTest),
            (std::vector<std::string_view>{"dddd", "eeee"}));
  EXPECT_EQ(split_documents(documents, 0.2, Split::kTrain).size(), 4U);
  const std::vector<std::string_view> two = {"aa", "bbbb bbbb bbbb bbbb"};
  EXPECT_EQ(split_documents(two, 0.3, Split::kTest), (std::vector<std::string_view>{" bbbb"}));
}

TEST(TextSet, BadRequests) {
  const auto file = text_scratch("bad") / "a.txt";
  write_file(file, "a short text");
  const auto problem = [&](const std::string& options) -> std::string {
    try {
      open_dataset("text:" + file.string() + options, Split::kTrain);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(problem(",length=1000").find("a row of length 1000"), std::string::npos);
  EXPECT_NE(problem(",length=4,tokenizer=none.json").find("none.json"), std::string::npos);
  EXPECT_NE(problem(",test=2").find("test"), std::string::npos);
  EXPECT_NE(problem(",bogus=2").find("there is no option 'bogus'"), std::string::npos);
  EXPECT_THROW(open_dataset("text:", Split::kTrain), Error);
}

}  // namespace
}  // namespace trainyard::data
