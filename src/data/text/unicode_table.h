// The tables behind unicode.h, made by tools/make_unicode_table.py.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::data {

// The first code point of each run of one category, times 256, plus the category.
extern const uint32_t kCategoryRuns[];
extern const size_t kCategoryRunsSize;

struct CodePair {
  uint32_t from;
  uint32_t to;
};
// What is left of the canonical decomposition without nonspacing marks, where it is not the
// character itself; several pairs of one `from` are a sequence. Sorted.
extern const CodePair kWithoutAccents[];
extern const size_t kWithoutAccentsSize;

// Every `step`-th character from first to last has its small letter at that distance. Sorted.
struct SmallLetterRun {
  uint32_t first;
  uint32_t last;
  uint32_t step;
  int32_t distance;
};
extern const SmallLetterRun kSmallLetters[];
extern const size_t kSmallLettersSize;

}  // namespace trainyard::data
