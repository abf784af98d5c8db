#include "data/text/vocabulary.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"

namespace trainyard::data {

void Vocabulary::add(int64_t id, std::string text, bool findable) {
  TY_REQUIRE(0 <= id && id < kMostIds, "token '{}' has the id {}, expected 0 to {}",
             printable_line(text), id, kMostIds - 1);
  const auto place = static_cast<size_t>(id);
  if (place >= texts_.size()) texts_.resize(place + 1);
  TY_REQUIRE(!texts_[place], "two tokens have the id {}: '{}' and '{}'", id,
             printable_line(*texts_[place]), printable_line(text));
  longest_ = std::max(longest_, text.size());
  if (findable) ids_.try_emplace(text, static_cast<TokenId>(id));
  texts_[place] = std::move(text);
}

bool Vocabulary::has(int64_t id) const {
  return 0 <= id && id < size() && texts_[static_cast<size_t>(id)].has_value();
}

std::string_view Vocabulary::text(int64_t id) const {
  return has(id) ? std::string_view(*texts_[static_cast<size_t>(id)]) : std::string_view();
}

std::optional<TokenId> Vocabulary::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace trainyard::data
