// Files that are wrong, or want what is not there.
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "base/structured_text.h"
#include "data/text/texts.h"

namespace trainyard::data {
namespace {

Json small_bpe() {
  return Json::parse(R"({"added_tokens": [{"id": 3, "content": "<|endoftext|>", "special": true}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})",
                     "small");
}

// What is said of the file with one value changed.
std::string problem(std::string_view path, const char* value) {
  Json root = small_bpe();
  set_at_path(root, path, Json::parse(value, "value"));
  try {
    parse_tokenizer_json(root.dump(), "tok.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

struct Case {
  const char* path;
  const char* value;
  const char* said;
};

TEST(TokenizerJson, WhatIsNotSupportedIsNamed) {
  ASSERT_EQ(problem("version", "1"), "");
  const Case cases[] = {
      {"model.type", R"("Unigram")", "tok.json: the model Unigram is not supported"},
      {"model.dropout", "0.1", "dropout"},
      {"model.byte_fallback", "true", "byte_fallback"},
      {"model.unk_token", R"("<unk>")", "unk_token \"<unk>\""},
      {"model.end_of_word_suffix", R"("</w>")", "end_of_word_suffix"},
      {"normalizer", R"({"type": "NFKC"})", "the normalizer NFKC is not supported"},
      {"normalizer", R"({"type": "Sequence", "normalizers": [{"type": "Precompiled"}]})",
       "the normalizer Precompiled"},
      {"pre_tokenizer", R"({"type": "Metaspace"})", "the pre-tokenizer Metaspace"},
      {"pre_tokenizer", R"({"type": "BertPreTokenizer"})", "without the pre-tokenizer ByteLevel"},
      {"pre_tokenizer",
       R"({"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated"})",
       "the regular expression '(a+)+$'"},
      {"pre_tokenizer", R"({"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated"})",
       "Split by {\"String\":"},
      {"decoder", R"({"type": "BPEDecoder"})", "the decoder BPEDecoder"},
      {"post_processor", R"({"type": "Other"})", "the post-processor Other"},
  };
  for (const Case& one : cases) {
    EXPECT_NE(problem(one.path, one.value).find(one.said), std::string::npos)
        << one.path << ": " << problem(one.path, one.value);
  }
}

TEST(TokenizerJson, WhatIsWrongIsSaid) {
  const Case cases[] = {
      {"model.vocab.b", "0", "two tokens have the id 0: 'a' and 'b'"},
      {"model.vocab.b", "-1", "id -1"},
      {"model.vocab.b", "1.5", "not a whole number"},
      {"model.vocab.b", "123456789012", "id 123456789012"},
      {"model.vocab", "[]", "expected an object"},
      {"model.merges", R"(["a c"])", "merge 1 is of 'c', which is not in the vocabulary"},
      {"model.merges", R"(["b a"])", "merge 1 makes 'ba'"},
      {"model.merges", R"(["a b", ["a", "b"]])", "merge 2 of 'a' and 'b' appears a second time"},
      {"model.merges", R"([["", "a"]])", "merge 1 has an empty part"},
      {"model.merges", R"(["a b c"])", "expected two tokens"},
      {"model.merges", R"([7])", "expected two tokens"},
      {"added_tokens[0].id", "1", "two tokens have the id 1"},
      {"added_tokens[0].content", R"("")", "has no content"},
      {"added_tokens[0].content", R"("b")", "the added token 'b' has the id 3, and 1"},
      {"added_tokens[0].id", "99999999", "expected 0 to"},
      {"added_tokens[0].single_word", "true", "single_word"},
      {"added_tokens", "7", "not a list"},
      {"post_processor",
       R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "x"}}],
           "special_tokens": {}})",
       "names the token 'x'"},
      {"post_processor", R"({"type": "BertProcessing", "cls": ["x", 77], "sep": ["y", 3]})",
       "the token 77, which is not in the vocabulary"},
      {"pre_tokenizer", R"({"type": "Sequence", "pretokenizers": 3})", "not a list"},
      {"pre_tokenizer", "7", "expected an object"},
  };
  for (const Case& one : cases) {
    EXPECT_NE(problem(one.path, one.value).find(one.said), std::string::npos)
        << one.path << ": " << problem(one.path, one.value);
  }
}

TEST(TokenizerJson, DeepAndBrokenFiles) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += R"({"type":"Sequence","normalizers":[)";
  EXPECT_THROW(parse_tokenizer_json(R"({"model":{},"normalizer":)" + deep, "deep"), Error);
  EXPECT_THROW(parse_tokenizer_json("[]", "list"), Error);
  EXPECT_THROW(parse_tokenizer_json("{}", "empty"), Error);
  EXPECT_THROW(parse_tokenizer_json(R"({"model": {"vocab": {"a": 0, "a": 1}}})", "twice"), Error);
}

TEST(TokenizerJson, BytesThatAreNotInTheVocabulary) {
  const auto tokenizer = parse_tokenizer_json(small_bpe().dump(), "small");
  EXPECT_EQ(encoded(*tokenizer, "abab"), (std::vector<TokenId>{2, 2}));
  EXPECT_EQ(tokenizer->vocabulary_size(), 4);
  try {
    encoded(*tokenizer, "abc");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("byte 0x63"), std::string::npos);
  }
  EXPECT_THROW(tokenizer->decode(std::vector<TokenId>{4}), Error);
}

TEST(AddedTokens, TheLongestIsFound) {
  const AddedTokens tokens({{.id = 1, .content = "<a>"},
                            {.id = 2, .content = "<a><b>", .strip_left = true},
                            {.id = 3, .content = "x", .strip_right = true}});
  const std::string text = "..  <a><b> x \u3000y";
  const AddedTokens::Found first = tokens.find(text, 0);
  EXPECT_EQ(first.token->id, 2);
  EXPECT_EQ(first.begin, 2U);
  const AddedTokens::Found second = tokens.find(text, first.end);
  EXPECT_EQ(second.token->id, 3);
  EXPECT_EQ(text.substr(second.end), "y");
  EXPECT_EQ(tokens.find(text, second.end).token, nullptr);
  EXPECT_EQ(tokens.by_content("<a>")->id, 1);
  EXPECT_EQ(tokens.by_content("<"), nullptr);
  EXPECT_EQ(tokens.by_id(3)->content, "x");
}

}  // namespace
}  // namespace trainyard::data
