// Things sorted into groups by a number, such as boxes by picture.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace trainyard::detect {

using Members = std::vector<size_t>;

// Members keep their order.
class Groups {
 public:
  template <typename Key>
  Groups(const Members& members, Key key_of) {
    for (const size_t member : members) groups_[key_of(member)].push_back(member);
  }

  const Members& of(int64_t key) const {
    const auto found = groups_.find(key);
    return found == groups_.end() ? none_ : found->second;
  }

 private:
  std::unordered_map<int64_t, Members> groups_;
  Members none_;
};

}  // namespace trainyard::detect
