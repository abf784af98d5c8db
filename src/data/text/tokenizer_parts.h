// The parts of a tokenizer.json around its model. All functions throw Error that names what is not
// supported, without the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "data/text/bert_normalizer.h"
#include "data/text/split.h"
#include "data/text/tokenizer.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

// Members of an object, with Errors that name them. The last three give `otherwise` for one that is
// missing or null.
const Json& json_member(const Json& object, std::string_view key);
const Json& json_object(const Json& object, std::string_view key);
std::string json_text(const Json& object, std::string_view key, std::string otherwise);
bool json_flag(const Json& object, std::string_view key, bool otherwise);
int64_t json_number(const Json& object, std::string_view key, int64_t otherwise);
void require_number(std::string_view name, int64_t number, int64_t least, int64_t most);
// Of a stranger's file, for an error: printable and not long.
std::string short_text(std::string_view text);

AddedTokens read_added_tokens(const Json& root);

// No value: texts are taken as they are.
std::optional<BertNormalizer> read_normalizer(const Json& root);

struct PreTokenizer {
  std::vector<SplitRule> splits;
  bool byte_level = false;
  bool split_by_byte_level = false;  // the last split is that of ByteLevel
  bool prefix_space = false;
};
PreTokenizer read_pre_tokenizer(const Json& root);

TextFrame read_frame(const Json& root, const Vocabulary& vocabulary, const AddedTokens& added);

struct Decoder {
  std::string type;  // empty: none
  bool tidy = true;
};
Decoder read_decoder(const Json& root);

}  // namespace trainyard::data
