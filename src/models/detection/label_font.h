// The type of labels in pictures.
#pragma once

#include <cstddef>
#include <cstdint>

namespace trainyard::detect {

inline constexpr int64_t kGlyphWidth = 9;
inline constexpr int64_t kGlyphHeight = 16;
inline constexpr char kFirstGlyph = ' ';
inline constexpr size_t kLabelGlyphCount = 95;

// By character, from kFirstGlyph: kGlyphHeight rows of kGlyphWidth shades, a hexadecimal digit
// each.
extern const char* const kLabelGlyphs[kLabelGlyphCount];

}  // namespace trainyard::detect
