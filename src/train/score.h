// A number that says how well a network does.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::train {

struct Score {
  std::string name;  // as in files and JSON: "top1", "absolute_error"
  double value = 0;
  bool is_share = false;  // of 1, and shown in percent

  bool operator==(const Score&) const = default;
};

// Null if there is none of that name.
inline const Score* find_score(std::span<const Score> scores, std::string_view name) {
  for (const Score& score : scores) {
    if (score.name == name) return &score;
  }
  return nullptr;
}

}  // namespace trainyard::train
