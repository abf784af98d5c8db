#include "data/text/tokenizer_parts.h"

#include <functional>

#include "base/error.h"
#include "base/printable.h"
#include "base/within.h"

namespace trainyard::data {
namespace {

// Far more than any file has; bounds what a text costs.
constexpr size_t kMostSteps = 16;
constexpr size_t kMostFrameTokens = 64;

// Calls `step` for the part, or for each of a Sequence, whose list is in the member `list`.
void each_step(const Json& part, std::string_view list, size_t& count,
               const std::function<void(const Json&, const std::string&)>& step) {
  if (part.is_null()) return;
  TY_REQUIRE(part.is_object(), "expected an object with a 'type', found {}",
             short_text(part.dump(-1)));
  const std::string type = json_text(part, "type", "");
  if (type != "Sequence") {
    TY_REQUIRE(++count <= kMostSteps, "there are more than {} steps in '{}'", kMostSteps, list);
    step(part, type);
    return;
  }
  const Json& steps = json_member(part, list);
  TY_REQUIRE(steps.is_array(), "'{}' of a Sequence is not a list", list);
  for (const Json& inner : steps.items()) each_step(inner, list, count, step);
}

const Json& part_of(const Json& root, std::string_view key) {
  static const Json kNone;
  const Json* part = root.find(key);
  return part == nullptr ? kNone : *part;
}

SplitRule read_split(const Json& step) {
  const Json& pattern = json_member(step, "pattern");
  const Json* regex = pattern.is_object() ? pattern.find("Regex") : nullptr;
  TY_REQUIRE(regex != nullptr && regex->is_string(),
             "the pre-tokenizer Split by {} is not supported, only by known regular expressions",
             short_text(pattern.dump(-1)));
  const std::optional<SplitRule> rule = rule_of_regex(regex->as_string());
  TY_REQUIRE(rule,
             "the regular expression '{}' of the pre-tokenizer Split is not one of those that are "
             "known (of GPT-2, Llama 3, Qwen2, cl100k, o200k); others are not run",
             short_text(regex->as_string()));
  const std::string behavior = json_text(step, "behavior", "");
  TY_REQUIRE(behavior == "Isolated" || behavior == "Removed",
             "the behavior '{}' of the pre-tokenizer Split is not supported, Isolated is",
             short_text(behavior));
  // The known patterns match every character: what is kept is what is matched.
  TY_REQUIRE(json_flag(step, "invert", false) == (behavior == "Removed"),
             "the pre-tokenizer Split would remove all of the text");
  return *rule;
}

void read_byte_level(const Json& step, PreTokenizer& result) {
  TY_REQUIRE(!result.byte_level, "there are two pre-tokenizers ByteLevel");
  result.byte_level = true;
  result.prefix_space = json_flag(step, "add_prefix_space", true);
  TY_REQUIRE(!result.prefix_space || result.splits.empty(),
             "add_prefix_space of ByteLevel behind another pre-tokenizer is not supported");
  result.split_by_byte_level = json_flag(step, "use_regex", true);
  if (result.split_by_byte_level) result.splits.push_back(SplitRule::kGpt2);
}

// A token that stands around texts, which must be one of those there are.
TokenId frame_token(int64_t id, const Vocabulary& vocabulary, const AddedTokens& added) {
  const bool known = vocabulary.has(id) || (0 <= id && id < Vocabulary::kMostIds &&
                                            added.by_id(static_cast<TokenId>(id)) != nullptr);
  TY_REQUIRE(known, "the post-processor adds the token {}, which is not in the vocabulary", id);
  return static_cast<TokenId>(id);
}

class FrameReader {
 public:
  FrameReader(const Vocabulary& vocabulary, const AddedTokens& added)
      : vocabulary_(vocabulary), added_(added) {}

  void read(const Json& step, const std::string& type) {
    if (type == "ByteLevel") return;  // it is about offsets
    if (type == "TemplateProcessing") {
      read_template(step);
    } else if (type == "BertProcessing" || type == "RobertaProcessing") {
      add(frame_.before, pair_id(step, "cls"));
      add(frame_.after, pair_id(step, "sep"));
    } else {
      throw_error(
          "the post-processor {} is not supported; TemplateProcessing, BertProcessing, "
          "RobertaProcessing and ByteLevel are",
          short_text(type));
    }
  }
  const TextFrame& frame() const { return frame_; }

 private:
  void add(std::vector<TokenId>& tokens, int64_t id) {
    TY_REQUIRE(tokens.size() < kMostFrameTokens, "the post-processor adds more than {} tokens",
               kMostFrameTokens);
    tokens.push_back(frame_token(id, vocabulary_, added_));
  }

  // ["[SEP]", 102]
  static int64_t pair_id(const Json& step, std::string_view key) {
    const Json& pair = json_member(step, key);
    TY_REQUIRE(pair.is_array() && pair.items().size() == 2 && pair.items()[1].is_int(),
               "'{}' of the post-processor is {}, expected a token and its id", key,
               short_text(pair.dump(-1)));
    return pair.items()[1].as_int();
  }

  void read_template(const Json& step) {
    const Json& single = json_member(step, "single");
    TY_REQUIRE(single.is_array(), "'single' of TemplateProcessing is not a list");
    bool behind = false;
    for (const Json& item : single.items()) {
      const Json* special = item.is_object() ? item.find("SpecialToken") : nullptr;
      if (special == nullptr) {
        behind = true;  // the text
        continue;
      }
      const Json& tokens = json_object(step, "special_tokens");
      const std::string name = json_text(*special, "id", "");
      const Json* entry = tokens.find(name);
      TY_REQUIRE(entry != nullptr, "TemplateProcessing names the token '{}', which it has not",
                 short_text(name));
      for (const Json& id : json_member(*entry, "ids").items()) {
        add(behind ? frame_.after : frame_.before, id.as_int());
      }
    }
  }

  const Vocabulary& vocabulary_;
  const AddedTokens& added_;
  TextFrame frame_;
};

}  // namespace

const Json& json_member(const Json& object, std::string_view key) {
  const Json* member = object.is_object() ? object.find(key) : nullptr;
  TY_REQUIRE(member != nullptr, "there is no member '{}' in {}", key, short_text(object.dump(-1)));
  return *member;
}

const Json& json_object(const Json& object, std::string_view key) {
  const Json& member = json_member(object, key);
  TY_REQUIRE(member.is_object(), "the member '{}' is {}, expected an object", key,
             short_text(member.dump(-1)));
  return member;
}

std::string json_text(const Json& object, std::string_view key, std::string otherwise) {
  const Json* member = object.is_object() ? object.find(key) : nullptr;
  if (member == nullptr || member->is_null()) return otherwise;
  TY_REQUIRE(member->is_string(), "the member '{}' is {}, expected a text", key,
             short_text(member->dump(-1)));
  return member->as_string();
}

bool json_flag(const Json& object, std::string_view key, bool otherwise) {
  const Json* member = object.find(key);
  if (member == nullptr || member->is_null()) return otherwise;
  TY_REQUIRE(member->is_bool(), "the member '{}' is {}, expected true or false", key,
             short_text(member->dump(-1)));
  return member->as_bool();
}

int64_t json_number(const Json& object, std::string_view key, int64_t otherwise) {
  const Json* member = object.find(key);
  if (member == nullptr || member->is_null()) return otherwise;
  TY_REQUIRE(member->is_int(), "the member '{}' is {}, expected a whole number", key,
             short_text(member->dump(-1)));
  return member->as_int();
}

void require_number(std::string_view name, int64_t number, int64_t least, int64_t most) {
  require_within(name, number, least, most);
}

std::string short_text(std::string_view text) {
  constexpr size_t kShown = 60;
  return text.size() <= kShown ? printable_line(text)
                               : printable_line(text.substr(0, kShown)) + "...";
}

AddedTokens read_added_tokens(const Json& root) {
  const Json& list = part_of(root, "added_tokens");
  if (list.is_null()) return {};
  TY_REQUIRE(list.is_array(), "'added_tokens' is not a list");
  const bool normalizes = !part_of(root, "normalizer").is_null();
  std::vector<AddedToken> tokens;
  for (const Json& entry : list.items()) {
    TY_REQUIRE(entry.is_object(), "an added token is {}, expected an object",
               short_text(entry.dump(-1)));
    const int64_t id = json_number(entry, "id", -1);
    AddedToken token{.content = json_text(entry, "content", "")};
    const std::string name = short_text(token.content);
    require_number("the id of added token '" + name + "'", id, 0, Vocabulary::kMostIds - 1);
    token.id = static_cast<TokenId>(id);
    token.special = json_flag(entry, "special", false);
    token.strip_left = json_flag(entry, "lstrip", false);
    token.strip_right = json_flag(entry, "rstrip", false);
    TY_REQUIRE(!json_flag(entry, "single_word", false),
               "the added token '{}' has single_word, which is not supported", name);
    TY_REQUIRE(!normalizes || !json_flag(entry, "normalized", !token.special),
               "the added token '{}' is to be found in normalized text, which is not supported",
               name);
    tokens.push_back(std::move(token));
  }
  return AddedTokens(std::move(tokens));
}

std::optional<BertNormalizer> read_normalizer(const Json& root) {
  std::optional<BertNormalizer> result;
  size_t count = 0;
  each_step(part_of(root, "normalizer"), "normalizers", count,
            [&](const Json& step, const std::string& type) {
              TY_REQUIRE(type == "BertNormalizer",
                         "the normalizer {} is not supported; BertNormalizer is", short_text(type));
              TY_REQUIRE(!result, "there are two normalizers");
              const bool lower_case = json_flag(step, "lowercase", true);
              result = {.clean = json_flag(step, "clean_text", true),
                        .part_chinese = json_flag(step, "handle_chinese_chars", true),
                        .strip_accents = json_flag(step, "strip_accents", lower_case),
                        .lower_case = lower_case};
            });
  return result;
}

PreTokenizer read_pre_tokenizer(const Json& root) {
  PreTokenizer result;
  size_t count = 0;
  each_step(part_of(root, "pre_tokenizer"), "pretokenizers", count,
            [&](const Json& step, const std::string& type) {
              TY_REQUIRE(!result.byte_level, "pre-tokenizers behind ByteLevel are not supported");
              if (type == "ByteLevel") return read_byte_level(step, result);
              if (type == "Split") return result.splits.push_back(read_split(step));
              for (const SplitPattern& pattern : split_patterns()) {
                if (pattern.regex.empty() && pattern.name == type) {
                  return result.splits.push_back(pattern.rule);
                }
              }
              throw_error(
                  "the pre-tokenizer {} is not supported; ByteLevel, Split, Whitespace, "
                  "WhitespaceSplit and BertPreTokenizer are",
                  short_text(type));
            });
  return result;
}

TextFrame read_frame(const Json& root, const Vocabulary& vocabulary, const AddedTokens& added) {
  FrameReader reader(vocabulary, added);
  size_t count = 0;
  each_step(part_of(root, "post_processor"), "processors", count,
            [&](const Json& step, const std::string& type) { reader.read(step, type); });
  return reader.frame();
}

Decoder read_decoder(const Json& root) {
  Decoder result;
  size_t count = 0;
  each_step(part_of(root, "decoder"), "decoders", count,
            [&](const Json& step, const std::string& type) {
              TY_REQUIRE(type == "ByteLevel" || type == "WordPiece" || type == "Fuse",
                         "the decoder {} is not supported; ByteLevel, WordPiece and Fuse are",
                         short_text(type));
              TY_REQUIRE(result.type.empty(), "there are two decoders");
              result.type = type;
              result.tidy = json_flag(step, "cleanup", true);
            });
  return result;
}

}  // namespace trainyard::data
