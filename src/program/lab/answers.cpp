#include "program/lab/answers.h"

#include <cctype>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "program/lab/query.h"

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
    for_each_part(value.as_string(), "report", [&](std::string_view part, bool is_program) {
      if (is_program) programs.emplace(part);
    });
  }
}

// What \(…) makes of a value that is not there.
bool says_null(std::string_view text) {
  constexpr std::string_view kNull = "null";
  const auto letter = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (size_t at = text.find(kNull); at != std::string_view::npos; at = text.find(kNull, at + 1)) {
    if (!letter(at - 1) && !letter(at + kNull.size())) return true;
  }
  return false;
}

}  // namespace

Answers::Answers(const Json& report, const Json& data, std::string_view functions)
    : data_(data), functions_(functions) {
  std::set<std::string> programs;
  try {
    collect(report, "", programs);
  } catch (const Error&) {
    return;  // a text without the end of its query, which the block that has it says
  }
  std::string all = "[";
  for (const std::string& program : programs) {
    all += fmt::format("{}(try [limit(1; ({}\n))] catch tostring)", all.size() > 1 ? ", " : "",
                       program);
  }
  Json found;
  try {
    found = ask(all + "]", data, "report", functions_);
  } catch (const Error&) {
    return;  // one of them is no program, or all together take too long; asked alone each says so
  }
  size_t at = 0;
  for (const std::string& program : programs) known_.emplace(program, found.items()[at++]);
}

Json Answers::found(std::string_view program, const std::string& where) const {
  const auto known = known_.find(program);
  if (known == known_.end()) return ask(program, data_, where, functions_);
  if (!known->second.is_array()) throw_error("{}: {}", where, known->second.as_string());
  TY_REQUIRE(!known->second.items().empty(), "{}: the jq program gives no result", where);
  return known->second.items()[0];
}

Json Answers::one(std::string_view program, const std::string& where) const {
  try {
    return found(program, where);
  } catch (const Error& error) {
    // What jq says where it needs a number, list or text and has none.
    if (std::string_view(error.what()).find("null") == std::string_view::npos) throw;
    throw AbsentValue(error.what());
  }
}

std::string Answers::filled(std::string_view text, const std::string& where) const {
  return fill_in(text, where, [&](std::string_view program) {
    Json value = one(program, where);
    const bool lacks = value.is_null() || (value.is_string() && says_null(value.as_string()));
    if (lacks) throw AbsentValue(where + ": the result is null");
    return value;
  });
}

}  // namespace trainyard::lab
