// Unicode's characters as tokenizers see them: UTF-8 in and out, categories, small letters.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace trainyard::data {

// General categories; a control character that is white space (tab, line breaks) has its own.
enum class Category : uint8_t {
  kCn,  // not assigned; also bytes that are not UTF-8
  kCc,
  kCf,
  kCo,
  kCs,
  kLl,
  kLm,
  kLo,
  kLt,
  kLu,
  kMc,
  kMe,
  kMn,
  kNd,
  kNl,
  kNo,
  kPc,
  kPd,
  kPe,
  kPf,
  kPi,
  kPo,
  kPs,
  kSc,
  kSk,
  kSm,
  kSo,
  kZl,
  kZp,
  kZs,
  kControlSpace,
};

// Sets of categories, a bit each.
using CategorySet = uint32_t;
constexpr CategorySet set_of(std::initializer_list<Category> categories) {
  CategorySet set = 0;
  for (const Category category : categories) set |= 1U << static_cast<unsigned>(category);
  return set;
}
constexpr CategorySet kLetters =
    set_of({Category::kLl, Category::kLm, Category::kLo, Category::kLt, Category::kLu});
constexpr CategorySet kNumbers = set_of({Category::kNd, Category::kNl, Category::kNo});
constexpr CategorySet kMarks = set_of({Category::kMc, Category::kMe, Category::kMn});
constexpr CategorySet kPunctuation =
    set_of({Category::kPc, Category::kPd, Category::kPe, Category::kPf, Category::kPi,
            Category::kPo, Category::kPs});
constexpr CategorySet kWhiteSpace =
    set_of({Category::kZl, Category::kZp, Category::kZs, Category::kControlSpace});

constexpr uint32_t kLastCodePoint = 0x10ffff;

// One character of a text.
struct Character {
  uint32_t code = 0;   // above kLastCodePoint: a byte that is not UTF-8
  uint32_t bytes = 1;  // it takes so many
};

// Decodes strictly (RFC 3629). `at` must be below the size of the text.
Character character_at(std::string_view text, size_t at);
void append_utf8(std::string& out, uint32_t code);
// The first byte at or after `at` that begins a character, or the size of the text.
size_t next_boundary(std::string_view text, size_t at);
// The first byte that is not UTF-8; the size of the text where there is none.
size_t first_broken_byte(std::string_view text);

// The category of every code point, in memory once.
class Categories {
 public:
  static const Categories& get();

  CategorySet of(uint32_t code) const {
    return 1U << (code <= kLastCodePoint ? table_[code] : uint8_t{0});
  }
  CategorySet of_byte(unsigned char ascii) const { return 1U << table_[ascii]; }

 private:
  Categories();

  std::array<uint8_t, kLastCodePoint + 1> table_{};
};

// The small letter of a character, which may be two characters.
void append_small_letter(std::string& out, uint32_t code);
// The character decomposed, without nonspacing marks; nothing for such a mark itself.
void append_without_accents(std::string& out, uint32_t code);

}  // namespace trainyard::data
