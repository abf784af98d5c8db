#include "cluster/jobs/description/secrets.h"

#include <array>
#include <regex>
#include <utility>

#include <fmt/format.h>

namespace trainyard::jobs {
namespace {

// std::regex recurses with the length of its input; the shapes below are found in the first
// kilobytes.
constexpr size_t kLongest = 4096;

}  // namespace

std::string secret_suspicion(const std::string& name, const std::string& value) {
  static const std::array<std::pair<std::regex, const char*>, 5> kShapes = {{
      {std::regex("(^|[^A-Z0-9])(AKIA|ASIA)[A-Z0-9]{16}($|[^A-Z0-9])"), "an AWS access key"},
      {std::regex("gh[pousr]_[A-Za-z0-9]{30,}"), "a GitHub token"},
      {std::regex("hf_[A-Za-z0-9]{30,}"), "a Hugging Face token"},
      {std::regex("-----BEGIN [A-Z ]*PRIVATE KEY-----"), "a private key"},
      {std::regex("://[^/@:]+:[^/@]+@"), "a password in an address"},
  }};
  static const std::regex kName("(secret|token|password|passwd|api_?key|access_?key|private_?key)",
                                std::regex::ECMAScript | std::regex::icase);
  // Values that stand for a secret, and numbers and flags that only look like one by their name.
  static const std::regex kPlaceholder(
      "(REPLACE|<|\\$\\{|\\*\\*|^$|^null$|^true$|^false$|^[0-9]{1,4}$)");
  const std::string head = value.substr(0, kLongest);
  for (const auto& [shape, what] : kShapes) {
    if (std::regex_search(head, shape)) return fmt::format("the value looks like {}", what);
  }
  if (std::regex_search(name, kName) && !std::regex_search(head, kPlaceholder)) {
    return "the name says that the value is a secret";
  }
  return "";
}

}  // namespace trainyard::jobs
