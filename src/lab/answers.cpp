#include "lab/answers.h"

#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "lab/query.h"

namespace trainyard::lab {
namespace {

// Fields of a report whose text is a program; in all other texts programs stand in {{ }}.
constexpr std::string_view kProgramKeys[] = {"rows", "when", "points", "series", "columns"};

bool is_program(std::string_view key) {
  for (const std::string_view program : kProgramKeys) {
    if (key == program) return true;
  }
  return false;
}

void collect(const Json& value, std::string_view key, std::set<std::string>& programs) {
  if (value.is_array()) {
    for (const Json& item : value.items()) collect(item, key, programs);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.members()) collect(member, name, programs);
  } else if (value.is_string() && is_program(key)) {
    programs.insert(value.as_string());
  } else if (value.is_string()) {
    for_each_program(value.as_string(), [&](std::string_view p) { programs.emplace(p); });
  }
}

}  // namespace

Answers::Answers(const Json& report, const Json& data) : data_(data) {
  std::set<std::string> programs;
  collect(report, "", programs);
  // A program that fails gives an empty list here, and its own error when it is asked alone.
  std::string all = "[";
  for (const std::string& program : programs) {
    all += fmt::format("{}(try [limit(1; ({}\n))] catch [])", all.size() > 1 ? ", " : "", program);
  }
  Json found;
  try {
    found = ask(all + "]", data, "report");
  } catch (const Error&) {
    return;  // one of them is no program, or all together take too long; asked alone each says so
  }
  size_t at = 0;
  for (const std::string& program : programs) {
    const Json::Array& result = found.items()[at++].items();
    if (!result.empty()) known_.emplace(program, result[0]);
  }
}

Json Answers::one(std::string_view program, const std::string& where) const {
  const auto known = known_.find(program);
  return known != known_.end() ? known->second : ask(program, data_, where);
}

std::string Answers::filled(std::string_view text, const std::string& where) const {
  return fill_in(text, where, [&](std::string_view program) { return one(program, where); });
}

}  // namespace trainyard::lab
