#include "cluster/jobs/description/names.h"

#include <cctype>

namespace trainyard::jobs {
namespace {

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

std::string fixed_name(std::string_view name, const NameRule& rule) {
  std::string out;
  for (const char c : name) {
    const bool allowed = is_alnum(c) || rule.extra.find(c) != std::string_view::npos;
    const char kept = allowed ? c : '-';
    if (out.empty() && (!is_alnum(kept) || (rule.letter_first && kept >= '0' && kept <= '9'))) {
      continue;
    }
    if (!allowed && out.back() == '-') continue;
    out +=
        rule.lower_case ? static_cast<char>(std::tolower(static_cast<unsigned char>(kept))) : kept;
  }
  if (out.size() > rule.longest) out.resize(rule.longest);
  while (!out.empty() && !is_alnum(out.back())) out.pop_back();
  return out;
}

}  // namespace trainyard::jobs
