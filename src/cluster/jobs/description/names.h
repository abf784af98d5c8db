// Names and labels as platforms want them.
#pragma once

#include <string>
#include <string_view>

namespace trainyard::jobs {

struct NameRule {
  std::string_view extra;  // allowed besides letters and digits
  size_t longest = 63;
  bool lower_case = false;
  bool letter_first = false;
};

// `name` with what the rule refuses replaced by '-' and cut to length; it begins and ends with a
// letter or digit. Empty if nothing is left.
std::string fixed_name(std::string_view name, const NameRule& rule);

}  // namespace trainyard::jobs
