#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

std::filesystem::path tokenizer_scratch(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "trainyard_tokenizer_test";
  std::filesystem::create_directories(folder);
  std::filesystem::remove_all(folder / name);
  return folder / name;
}

std::string small_corpus() {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "the quick brown fox and the lazy dog\n";
  const auto file = tokenizer_scratch("corpus.txt");
  write_file(file, text);
  return file.string();
}

TEST(TokenizerCommand, TrainsEncodesAndDecodes) {
  const std::string text = small_corpus();
  const std::string file = tokenizer_scratch("tok.json").string();
  const Outcome trained =
      run({"tokenizer", "train", text, "--vocab", "300", "-o", file, "--quiet", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_LE(Json::parse(trained.out, "stdout").at("vocabulary").as_int(), 300);
  const std::string tokens = tokenizer_scratch("corpus.bin").string();
  const Outcome encoded =
      run({"tokenizer", "encode", text, "--tokenizer", file, "-o", tokens, "--json"});
  ASSERT_EQ(encoded.code, 0) << encoded.err;
  const int64_t count = Json::parse(encoded.out, "stdout").at("tokens").as_int();
  EXPECT_EQ(std::filesystem::file_size(tokens), static_cast<uint64_t>(2 * count));
  const std::string again = tokenizer_scratch("again.txt").string();
  ASSERT_EQ(run({"tokenizer", "decode", tokens, "--tokenizer", file, "-o", again}).code, 0);
  EXPECT_EQ(read_file(again), read_file(text));
}

TEST(TokenizerCommand, InspectShowsTokens) {
  const Outcome result =
      run({"tokenizer", "inspect", "bytes", "--text", "a<|endoftext|>", "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const Json data = Json::parse(result.out, "stdout");
  EXPECT_EQ(data.at("vocabulary").as_int(), 257);
  EXPECT_EQ(data.at("ids").dump(-1), "[97,256]");
  const Outcome shown = run({"tokenizer", "encode", "--tokenizer", "bytes", "--text", "ab"});
  EXPECT_EQ(shown.out, "97 98\n");
}

TEST(TokenizerCommand, BadRequestsLeaveNothing) {
  const std::string file = tokenizer_scratch("none.json").string();
  const std::string text = small_corpus();
  const auto refused = [](std::vector<std::string> arguments, std::string_view said) {
    const Outcome result = run(std::move(arguments));
    EXPECT_EQ(result.code, 2);
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
  };
  refused({"tokenizer", "train", text, "--vocab", "10", "-o", file}, "expected 257");
  refused({"tokenizer", "train", text, "--pattern", "x", "-o", file}, "no pattern 'x'");
  refused({"tokenizer", "train", "-o", file}, "which texts");
  refused({"tokenizer", "train", text}, "-o tok.json");
  refused({"tokenizer", "learn", text}, "'learn' is not one of");
  refused({"tokenizer", "encode", "--text", "a"}, "--tokenizer FILE");
  refused({"tokenizer", "encode", "--tokenizer", text, "--text", "a"}, "neither a tokenizer.json");
  refused({"tokenizer", "decode", "--tokenizer", "bytes", "--ids", "1,999"}, "vocabulary of 257");
  refused({"tokenizer", "inspect", "bytes", "--vocab", "7"}, "--vocab");
  EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace trainyard::cli
