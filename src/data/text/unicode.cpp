#include "data/text/unicode.h"

#include <algorithm>
#include <memory>
#include <span>

#include "data/text/unicode_table.h"

namespace trainyard::data {
namespace {

constexpr uint32_t kBroken = kLastCodePoint + 1;

bool continues(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

uint32_t low_bits(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]) & 0x3fU;
}

// A Hangul syllable is made of a consonant, a vowel and maybe a consonant, by a formula.
constexpr uint32_t kHangulFirst = 0xac00;
constexpr uint32_t kHangulLast = 0xd7a3;

void append_hangul(std::string& out, uint32_t code) {
  constexpr uint32_t kVowels = 21;
  constexpr uint32_t kTails = 28;
  const uint32_t index = code - kHangulFirst;
  append_utf8(out, 0x1100 + index / (kVowels * kTails));
  append_utf8(out, 0x1161 + index / kTails % kVowels);
  if (index % kTails != 0) append_utf8(out, 0x11a7 + index % kTails);
}

}  // namespace

Character character_at(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1};
  if (first >= 0xc2 && first < 0xe0 && continues(text, at + 1)) {
    return {(first & 0x1fU) << 6 | low_bits(text, at + 1), 2};
  }
  if (first >= 0xe0 && first < 0xf0 && continues(text, at + 1) && continues(text, at + 2)) {
    const uint32_t code =
        (first & 0x0fU) << 12 | low_bits(text, at + 1) << 6 | low_bits(text, at + 2);
    if (code >= 0x800 && (code < 0xd800 || code >= 0xe000)) return {code, 3};
  }
  if (first >= 0xf0 && first < 0xf5 && continues(text, at + 1) && continues(text, at + 2) &&
      continues(text, at + 3)) {
    const uint32_t code = (first & 0x07U) << 18 | low_bits(text, at + 1) << 12 |
                          low_bits(text, at + 2) << 6 | low_bits(text, at + 3);
    if (code >= 0x10000 && code <= kLastCodePoint) return {code, 4};
  }
  return {kBroken, 1};
}

void append_utf8(std::string& out, uint32_t code) {
  const auto put = [&out](uint32_t byte) { out += static_cast<char>(byte); };
  const auto put_low = [&](int shift) { put(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put_low(0);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put_low(6);
    put_low(0);
  } else {
    put(0xf0 | code >> 18);
    put_low(12);
    put_low(6);
    put_low(0);
  }
}

size_t next_boundary(std::string_view text, size_t at) {
  while (continues(text, at)) ++at;
  return std::min(at, text.size());
}

size_t first_broken_byte(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Character character = character_at(text, at);
    if (character.code > kLastCodePoint) return at;
    at += character.bytes;
  }
  return text.size();
}

Categories::Categories() {
  for (size_t run = 0; run < kCategoryRunsSize; ++run) {
    const uint32_t end =
        run + 1 < kCategoryRunsSize ? kCategoryRuns[run + 1] >> 8 : kLastCodePoint + 1;
    std::fill(table_.begin() + (kCategoryRuns[run] >> 8), table_.begin() + end,
              static_cast<uint8_t>(kCategoryRuns[run] & 0xff));
  }
  for (const uint32_t code : {0x9U, 0xaU, 0xbU, 0xcU, 0xdU, 0x85U}) {
    table_[code] = static_cast<uint8_t>(Category::kControlSpace);
  }
}

const Categories& Categories::get() {
  static const std::unique_ptr<const Categories> kOnly(new Categories);
  return *kOnly;
}

void append_small_letter(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>('A' <= code && code <= 'Z' ? code + ('a' - 'A') : code);
    return;
  }
  if (code == 0x130) {  // the only one that becomes two characters: i and a dot above
    out += "i\xcc\x87";
    return;
  }
  const std::span<const SmallLetterRun> runs(kSmallLetters, kSmallLettersSize);
  auto run = std::upper_bound(
      runs.begin(), runs.end(), code,
      [](uint32_t wanted, const SmallLetterRun& entry) { return wanted < entry.first; });
  if (run != runs.begin() && code <= (--run)->last && (code - run->first) % run->step == 0) {
    append_utf8(out, static_cast<uint32_t>(static_cast<int64_t>(code) + run->distance));
    return;
  }
  append_utf8(out, code);
}

void append_without_accents(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  if ((Categories::get().of(code) & set_of({Category::kMn})) != 0) return;
  if (kHangulFirst <= code && code <= kHangulLast) {
    append_hangul(out, code);
    return;
  }
  const std::span<const CodePair> pairs(kWithoutAccents, kWithoutAccentsSize);
  auto pair =
      std::lower_bound(pairs.begin(), pairs.end(), code,
                       [](const CodePair& entry, uint32_t wanted) { return entry.from < wanted; });
  if (pair == pairs.end() || pair->from != code) {
    append_utf8(out, code);
    return;
  }
  for (; pair != pairs.end() && pair->from == code; ++pair) append_utf8(out, pair->to);
}

}  // namespace trainyard::data
