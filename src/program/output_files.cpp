#include "program/output_files.h"

#include <set>

#include <fmt/format.h>

namespace trainyard::cli {
namespace {

// File systems take 255 bytes; a number and ".npy" follow.
constexpr size_t kLongestName = 230;

// A name that cannot leave the folder.
std::string safe_name(const std::string& name) {
  std::string safe = name.substr(0, kLongestName);
  for (char& c : safe) {
    if (c == '/' || c == '\\' || c == '\0') c = '_';
  }
  return safe.empty() || safe[0] == '.' ? "_" + safe : safe;
}

std::string unused(const std::string& name, const std::set<std::string>& used) {
  std::string free = name;
  for (int number = 2; used.contains(free); ++number) free = fmt::format("{}-{}", name, number);
  return free;
}

}  // namespace

std::vector<std::string> output_files(std::span<const std::string> names) {
  std::vector<std::string> files(names.size());
  std::set<std::string> used;
  for (const bool changed : {false, true}) {
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string safe = safe_name(names[i]);
      if ((safe != names[i]) != changed) continue;
      files[i] = unused(safe, used);
      used.insert(files[i]);
      files[i] += ".npy";
    }
  }
  return files;
}

}  // namespace trainyard::cli
