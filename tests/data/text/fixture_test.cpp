// Tokens that the reference gave (tools/make_tokenizer_fixture.py).
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "data/text/texts.h"

namespace trainyard::data {
namespace {

std::vector<TokenId> ids_of(const Json& list) {
  std::vector<TokenId> ids;
  for (const Json& id : list.items()) ids.push_back(static_cast<TokenId>(id.as_int()));
  return ids;
}

std::vector<TokenId> framed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::vector<TokenId> all = tokenizer.frame().before;
  all.insert(all.end(), ids.begin(), ids.end());
  all.insert(all.end(), tokenizer.frame().after.begin(), tokenizer.frame().after.end());
  return all;
}

void check_cases(const Tokenizer& tokenizer, const Json& cases, const std::string& name) {
  WordCache cache;
  for (const Json& one : cases.items()) {
    const std::string& text = one.at("text").as_string();
    const std::vector<TokenId> ids = encoded(tokenizer, text);
    EXPECT_EQ(ids, ids_of(one.at("ids"))) << name << ": " << text;
    EXPECT_EQ(encoded(tokenizer, text, &cache), ids) << name << ", cached: " << text;
    EXPECT_EQ(encoded(tokenizer, text, &cache), ids) << name << ", again: " << text;
    EXPECT_EQ(framed(tokenizer, ids),
              ids_of(*(one.find("framed") ? one.find("framed") : one.find("ids"))))
        << name << ": " << text;
    if (const Json* decoded = one.find("decoded")) {
      EXPECT_EQ(tokenizer.decode(ids), decoded->as_string()) << name << ": " << text;
    } else if (name != "prefixed") {
      EXPECT_EQ(tokenizer.decode(ids), text) << name;
    }
  }
}

TEST(Tokenizers, GiveTheTokensOfTheReference) {
  const Json fixture = Json::parse(read_file(TY_TEXT_DIR "/tokenizers.json"), "tokenizers.json");
  EXPECT_EQ(fixture.at("tokenizers").members().size(), 5U);
  for (const auto& [name, entry] : fixture.at("tokenizers").members()) {
    Json file = entry.at("tokenizer");
    file["model"] = fixture.at("models").at(file.at("model").as_string());
    const auto tokenizer = parse_tokenizer_json(file.dump(), name);
    check_cases(*tokenizer, entry.at("cases"), name);
    // What is written reads back as the same.
    const auto again = parse_tokenizer_json(tokenizer->json().dump(), name);
    check_cases(*again, entry.at("cases"), name);
    EXPECT_EQ(again->json().dump(), tokenizer->json().dump());
  }
}

}  // namespace
}  // namespace trainyard::data
