// What BERT does to a text before it looks for words.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::data {

struct BertNormalizer {
  bool clean = true;          // control characters go, white space becomes spaces
  bool part_chinese = true;   // ideographs stand alone, between spaces
  bool strip_accents = true;  // characters are decomposed and lose nonspacing marks
  bool lower_case = true;

  // Bytes that are not UTF-8 count as the replacement character.
  std::string apply(std::string_view text) const;
  Json json() const;
};

}  // namespace trainyard::data
