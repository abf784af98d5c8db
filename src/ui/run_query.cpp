#include "ui/run_query.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/parse_number.h"

namespace trainyard::ui {
namespace {

std::string word_of(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump(-1);
}

// A setting, a last number, or a member of the row, in this order.
const Json* find_member(const Json& row, const Run& run, const std::string& name) {
  if (const Json* setting = run.settings.find(name)) return setting;
  if (const Json* last = row.at("last").find(name)) return last;
  return row.find(name);
}

bool compares(double value, std::string_view sign, double limit) {
  if (sign == "<") return value < limit;
  if (sign == "<=") return value <= limit;
  if (sign == ">") return value > limit;
  return value >= limit;
}

std::optional<bool> compared(const Json& row, const Run& run, const std::string& word) {
  const size_t at = word.find_first_of("<>");
  if (at == std::string::npos || at == 0) return std::nullopt;
  const size_t signs = at + 1 < word.size() && word[at + 1] == '=' ? 2 : 1;
  const std::string right = word.substr(at + signs);
  const auto limit = parse_number<double>(right);
  TY_REQUIRE(limit, "'{}': '{}' is no number; expected NAME>NUMBER, as test_top1>0.9", word, right);
  const Json* value = find_member(row, run, word.substr(0, at));
  return value != nullptr && value->is_number() &&
         compares(value->as_number(), std::string_view(word).substr(at, signs), *limit);
}

bool is_equal(const Json& value, const std::string& wanted) {
  const auto number = parse_number<double>(wanted);
  if (number && value.is_number()) return value.as_number() == *number;
  return word_of(value) == wanted;
}

bool matches_word(const Json& row, const Run& run, const std::string& word) {
  if (const std::optional<bool> answer = compared(row, run, word)) return *answer;
  if (const size_t equals = word.find('='); equals != std::string::npos && equals > 0) {
    const Json* value = find_member(row, run, word.substr(0, equals));
    return value != nullptr && is_equal(*value, word.substr(equals + 1));
  }
  if (word.starts_with('#')) {
    const std::vector<std::string>& tags = run.notes.tags;
    return std::find(tags.begin(), tags.end(), word.substr(1)) != tags.end();
  }
  return run.name.find(word) != std::string::npos || row.at("state").as_string() == word;
}

}  // namespace

bool matches(const Json& row, const Run& run, std::span<const std::string> words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return matches_word(row, run, word); });
}

}  // namespace trainyard::ui
