#include "data/text/text_files.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "data/compress.h"
#include "data/text/encode_texts.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

fs::path scratch(const std::string& name) {
  const fs::path folder = fs::path(testing::TempDir()) / "trainyard_text_files_test" / name;
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

std::string problem(const fs::path& place) {
  try {
    const TextFiles texts(place);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Two frames of zstd, as `zstd --no-check` writes one, side by side.
TEST(TextFiles, ZstdIsReadAndDamageIsFound) {
  const char frame[] = "\x28\xb5\x2f\xfd\x20\x1d\xe9\x00\x00in the beginning\nand the end\n";
  const std::string packed(frame, sizeof(frame) - 1);
  const fs::path folder = scratch("zstd");
  write_file(folder / "a.txt.zst", packed + packed);
  const std::string twice = "in the beginning\nand the end\nin the beginning\nand the end\n";
  EXPECT_EQ(TextFiles(folder / "a.txt.zst").documents(), std::vector<std::string_view>{twice});
  write_file(folder / "a.txt.zst", packed.substr(0, packed.size() - 3));
  EXPECT_NE(problem(folder / "a.txt.zst").find("cut short"), std::string::npos);
  write_file(folder / "a.txt.zst", packed + "more");
  EXPECT_NE(problem(folder / "a.txt.zst").find("damaged"), std::string::npos);
}

// A frame of a thousand bytes, a hundred thousand times: the time grows with the text, not with its
// square (that took more than a minute).
TEST(TextFiles, ZstdOfManyFramesIsReadInTime) {
  constexpr int kFrames = 100'000;
  const std::string frame("\x28\xb5\x2f\xfd\x60\xe8\x02\x43\x1f\x00\x61", 11);
  std::string packed;
  for (int i = 0; i < kFrames; ++i) packed += frame;
  const fs::path folder = scratch("frames");
  write_file(folder / "a.txt.zst", packed);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(TextFiles(folder / "a.txt.zst").bytes(), int64_t{1000} * kFrames);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(TextFiles, PlainLinesAndCompressed) {
  const fs::path folder = scratch("all");
  write_file(folder / "b.txt", "plain");
  write_file(folder / "a.jsonl",
             "{\"text\": \"one\\n\", \"x\": [1]}\n\n{\"text\": \"\\u00e9\"}\n{\"text\": \"\"}");
  fs::create_directories(folder / "sub");
  write_file(folder / "sub" / "c.txt.gz", compress("packed", Compression::kGzip));
  write_file(folder / "picture.png", "not read");
  const TextFiles texts(folder);
  EXPECT_EQ(texts.documents(),
            (std::vector<std::string_view>{"one\n", "\u00e9", "plain", "packed"}));
  EXPECT_EQ(texts.files().size(), 3U);
  EXPECT_EQ(texts.files()[0].count, 2U);
  EXPECT_EQ(texts.left_out(), 1);
  EXPECT_EQ(texts.bytes(), 4 + 2 + 5 + 6);
}

TEST(TextFiles, WhatIsNoTextIsRefused) {
  const fs::path folder = scratch("bad");
  EXPECT_NE(problem(folder).find("found no text file"), std::string::npos);
  EXPECT_NE(problem(folder / "missing").find("no such file"), std::string::npos);
  const auto with = [&](const char* name, std::string_view content) {
    write_file(folder / name, content);
    return problem(folder / name);
  };
  EXPECT_NE(with("empty.txt", "").find("is empty"), std::string::npos);
  EXPECT_NE(with("zero.txt", std::string_view("ab\0c", 4)).find("byte 2 is zero"),
            std::string::npos);
  EXPECT_NE(with("latin.txt", "caf\xe9 au").find("byte 3 (0xe9) is not UTF-8"), std::string::npos);
  EXPECT_NE(with("lines.jsonl", "{\"text\": \"a\"}\n{\"txt\": 1}\n")
                .find("line 2: the object has no member 'text'"),
            std::string::npos);
  EXPECT_NE(with("number.jsonl", "{\"text\": 1}\n").find("line 1"), std::string::npos);
  EXPECT_NE(with("cut.txt.gz", compress("text", Compression::kGzip).substr(0, 10)).find("cut"),
            std::string::npos);
}

TEST(TokenFiles, AreAsWideAsTheVocabularyAsks) {
  const fs::path folder = scratch("tokens");
  const std::vector<TokenId> tokens = {0, 1, 65535, 7};
  EXPECT_EQ(write_token_file(folder / "narrow.bin", tokens, 65536), 2);
  EXPECT_EQ(write_token_file(folder / "wide.bin", tokens, 65537), 4);
  EXPECT_EQ(fs::file_size(folder / "narrow.bin"), 8U);
  EXPECT_EQ(read_token_file(folder / "narrow.bin", 65536), tokens);
  EXPECT_EQ(read_token_file(folder / "wide.bin", 70000), tokens);
  EXPECT_THROW(read_token_file(folder / "narrow.bin", 60000), Error);
}

TEST(EncodeTexts, EndsFollowEachOfSeveralDocuments) {
  const auto tokenizer = make_byte_tokenizer();
  const std::vector<std::string_view> one = {"ab"};
  EXPECT_EQ(encode_texts(*tokenizer, one, 2, false), (std::vector<TokenId>{'a', 'b'}));
  const std::vector<std::string_view> two = {"ab", "<|endoftext|>"};
  const std::vector<TokenId> tokens = encode_texts(*tokenizer, two, 2, true);
  EXPECT_EQ(tokens.size(), 2 + 1 + 13 + 1U);
  EXPECT_EQ(tokens[2], 256);
  EXPECT_EQ(tokens[3], '<');
}

}  // namespace
}  // namespace trainyard::data
