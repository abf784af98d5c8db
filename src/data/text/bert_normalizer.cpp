#include "data/text/bert_normalizer.h"

#include "data/text/unicode.h"

namespace trainyard::data {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

// As the reference has them: one block begins at 2b920 there.
bool is_chinese(uint32_t code) {
  constexpr uint32_t kBlocks[][2] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                     {0x20000, 0x2a6df}, {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf},
                                     {0x2f800, 0x2fa1f}};
  for (const auto& [first, last] : kBlocks) {
    if (first <= code && code <= last) return true;
  }
  return false;
}

// The text with `step` done to each character.
template <typename Step>
std::string each_character(std::string_view text, Step&& step) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    step(out, character.code <= kLastCodePoint ? character.code : kReplacement);
    at += character.bytes;
  }
  return out;
}

void append_clean(std::string& out, uint32_t code) {
  constexpr CategorySet kControls = set_of({Category::kCc, Category::kCf, Category::kCo});
  const CategorySet set = Categories::get().of(code);
  if (code == '\t' || code == '\n' || code == '\r') {
    out += ' ';
  } else if ((set & set_of({Category::kControlSpace})) != 0 || (set & kControls) != 0 ||
             code == kReplacement) {
    return;
  } else if ((set & kWhiteSpace) != 0) {
    out += ' ';
  } else {
    append_utf8(out, code);
  }
}

void append_parted(std::string& out, uint32_t code) {
  const bool parted = is_chinese(code);
  if (parted) out += ' ';
  append_utf8(out, code);
  if (parted) out += ' ';
}

}  // namespace

std::string BertNormalizer::apply(std::string_view text) const {
  std::string result(text);
  if (clean) result = each_character(result, append_clean);
  if (part_chinese) result = each_character(result, append_parted);
  if (strip_accents) result = each_character(result, append_without_accents);
  if (lower_case) result = each_character(result, append_small_letter);
  return result;
}

Json BertNormalizer::json() const {
  return Json::object({{"type", "BertNormalizer"},
                       {"clean_text", clean},
                       {"handle_chinese_chars", part_chinese},
                       {"strip_accents", strip_accents},
                       {"lowercase", lower_case}});
}

}  // namespace trainyard::data
