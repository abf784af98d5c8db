// Language models as people use them: train on a text, evaluate, generate, and what is refused.
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "data/text/tokenizer.h"
#include "support/run_program.h"
#include "support/temporary_folder.h"

namespace trainyard::cli {
namespace {

using Words = std::vector<std::string>;

class LanguageCommands : public testing::Test {
 protected:
  LanguageCommands() {
    std::string text;
    for (int i = 0; i < 300; ++i) text += fmt::format("line {} of a text. ", i % 7);
    write_file(folder_.path() / "a.txt", text);
  }

  // `more` are flags with values, which win.
  Words train(const Words& more = {}) const {
    std::map<std::string, std::string> flags = {
        {"--model", "gpt-nano"}, {"--data", spec()},      {"--layers", "1"},
        {"--hidden", "16"},      {"--heads", "2"},        {"--runs-dir", folder_.path().string()},
        {"--name", "run"},       {"--epochs", "1"},       {"--batch", "8"},
        {"--threads", "1"},      {"--sample-tokens", "5"}};
    for (size_t i = 0; i + 1 < more.size(); i += 2) flags[more[i]] = more[i + 1];
    Words words = {"train", "--quiet", "--json"};
    for (const auto& [flag, value] : flags) words.insert(words.end(), {flag, value});
    return words;
  }
  std::string spec() const { return "tokens:" + (folder_.path() / "a.txt").string() + ",type=u8"; }
  std::string run_folder() const { return (folder_.path() / "run").string(); }

  TemporaryFolder folder_{"language_commands"};
};

TEST_F(LanguageCommands, TrainEvaluateAndGenerate) {
  const auto trained = run(train({"--length", "16"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json epoch = Json::parse(trained.out, "train").at("epochs").items()[0];
  EXPECT_GT(epoch.at("tokens_per_s").as_number(), 0);
  EXPECT_NE(epoch.at("sample").as_string().find("line 0 "), std::string::npos);

  const auto tested = run({"evaluate", run_folder(), "--quiet", "--json", "--threads", "1"});
  ASSERT_EQ(tested.code, 0) << tested.err;
  EXPECT_NEAR(Json::parse(tested.out, "evaluate").at("bits_per_byte").as_number(),
              epoch.at("bits_per_byte").as_number(), 1e-4);

  const Words words = {"generate", run_folder(), "--prompt", "line", "--tokens", "9", "--json"};
  const auto written = run(words);
  ASSERT_EQ(written.code, 0) << written.err;
  const Json sample = Json::parse(written.out, "generate").at("samples").items()[0];
  EXPECT_EQ(sample.at("tokens").items().size(), 9U);
  EXPECT_TRUE(sample.at("text").is_string());
  // The same choices each time, but for the speed.
  EXPECT_EQ(Json::parse(run(words).out, "again").at("samples").items()[0].dump(), sample.dump());
}

// Other programs get the bytes as a tokenizer, with as many tokens as the network has.
TEST_F(LanguageCommands, BytesGoOnToOtherProgramsWithATokenizer) {
  ASSERT_EQ(run(train({"--length", "16"})).code, 0);
  const std::string folder = (folder_.path() / "exported").string();
  const auto exported = run({"export", run_folder(), "--layout", "hugging-face", "-o", folder});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const auto tokenizer = data::read_tokenizer(folder + "/tokenizer.json");
  EXPECT_EQ(tokenizer->vocabulary_size(), 256);
  std::vector<data::TokenId> tokens;
  tokenizer->encode("a \xff", tokens);
  EXPECT_EQ(tokens, (std::vector<data::TokenId>{'a', ' ', 0xff}));
  const Words more = {"--prompt", "line", "--tokens", "9", "--json"};
  const auto sample = [&](const std::string& model) {
    Words words = {"generate", model};
    words.insert(words.end(), more.begin(), more.end());
    const auto written = run(words);
    EXPECT_EQ(written.code, 0) << written.err;
    return Json::parse(written.out, "generate").at("samples").items()[0].at("tokens").dump();
  };
  EXPECT_EQ(sample(folder), sample(run_folder()));
}

// The answer of a row lies between a 1 and a 2 among other tokens.
TEST_F(LanguageCommands, FindSpans) {
  std::string tokens;
  std::string spans;
  for (int row = 0; row < 256; ++row) {
    std::string own;
    for (int i = 0; i < 12; ++i) own += static_cast<char>(3 + (5 * row + 3 * i * i) % 7);
    const int first = row % 5 + 1;
    const int last = first + row % 4;
    own[static_cast<size_t>(first) - 1] = 1;
    own[static_cast<size_t>(last) + 1] = 2;
    tokens += own;
    spans += {static_cast<char>(first), static_cast<char>(last)};
  }
  write_file(folder_.path() / "rows.bin", tokens);
  write_file(folder_.path() / "spans.bin", spans);
  const std::string data =
      fmt::format("tokens:{},type=u8,length=12,vocab=10,spans={}",
                  (folder_.path() / "rows.bin").string(), (folder_.path() / "spans.bin").string());
  Words words = train({"--model", "bert-tiny", "--data", data, "--hidden", "32", "--epochs", "12",
                       "--optimizer", "adamw", "--learning-rate", "0.003", "--dropout", "0"});
  const auto trained = run(words);
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Json epoch = Json::parse(trained.out, "train").at("epochs").items().back();
  EXPECT_GT(epoch.at("f1").as_number(), 0.8);
  EXPECT_LE(epoch.at("exact").as_number(), epoch.at("f1").as_number());
  const auto tested = run({"evaluate", run_folder(), "--quiet", "--json", "--threads", "1"});
  ASSERT_EQ(tested.code, 0) << tested.err;
  EXPECT_NEAR(Json::parse(tested.out, "evaluate").at("f1").as_number(), epoch.at("f1").as_number(),
              1e-6);
  write_file(folder_.path() / "spans.bin", spans.substr(1));
  EXPECT_EQ(run(words).code, 2) << "an odd number of places";
  write_file(folder_.path() / "spans.bin", std::string(512, 12));
  EXPECT_EQ(run(words).code, 2) << "a place outside of its row";
}

TEST_F(LanguageCommands, RouteTokensToExperts) {
  const auto trained = run(train({"--model", "llama-moe", "--length", "16", "--inner", "8",
                                  "--experts", "4", "--active", "2"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(run(train({"--model", "llama-moe", "--experts", "4", "--active", "5"})).code, 2);
  EXPECT_EQ(run(train({"--experts", "4"})).code, 2) << "gpt-nano has none";
}

TEST_F(LanguageCommands, RefuseWhatMakesNoSense) {
  EXPECT_EQ(run(train({"--length", "100000"})).code, 2);
  EXPECT_EQ(run(train({"--length", "16", "--kv-heads", "3"})).code, 2);
  EXPECT_EQ(run({"train", "--quiet", "--model", "lenet5", "--data", spec()}).code, 2);
  EXPECT_EQ(run({"train", "--quiet", "--model", "gpt-nano", "--data", "synthetic"}).code, 2);
  EXPECT_EQ(run({"generate", "lenet5"}).code, 2);
  EXPECT_EQ(run(train({"--length", "16", "--memory", "2GB"})).code, 2);
  const auto little = run(train({"--length", "16", "--memory", "64K"}));
  EXPECT_EQ(little.code, 2);
  EXPECT_NE(little.err.find("memory: a step takes"), std::string::npos) << little.err;
  EXPECT_EQ(run({"generate", "gpt-nano", "--temperature", "-1"}).code, 2);
  EXPECT_FALSE(std::filesystem::exists(run_folder()));
}

}  // namespace
}  // namespace trainyard::cli
