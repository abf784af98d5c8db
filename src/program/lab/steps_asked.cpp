// Which steps' results a block of a report shows.
#include <cctype>
#include <map>

#include "program/lab/lab_report.h"

namespace trainyard::lab {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Whether `word` stands in `text` as a whole; with `dot`, behind a dot, as a field.
bool mentions(std::string_view text, std::string_view word, bool dot) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const char before = at > 0 ? text[at - 1] : ' ';
    const size_t end = at + word.size();
    const bool ends = end >= text.size() || !is_name(text[end]);
    if (ends && (dot ? before == '.' : !is_name(before) && before != '.')) return true;
  }
  return false;
}

// The texts of definitions by name; one inside another belongs to the outer one too.
std::map<std::string, std::string> definitions(std::string_view functions) {
  constexpr std::string_view kDef = "def ";
  std::map<std::string, std::string> found;
  size_t at = functions.starts_with(kDef) ? 0 : functions.find("\ndef ");
  while (at != std::string_view::npos) {
    const size_t begin = functions.find(kDef, at) + kDef.size();
    const size_t next = functions.find("\ndef ", begin);
    size_t end = begin;
    while (end < functions.size() && is_name(functions[end])) ++end;
    found[std::string(functions.substr(begin, end - begin))] +=
        functions.substr(end, next == std::string_view::npos ? next : next - end);
    at = next;
  }
  return found;
}

}  // namespace

std::set<std::string> steps_asked(const Lab& lab, const Json& block) {
  std::string text = block.dump(-1);
  // A function that is called says what its own text says, and what those say that it calls.
  std::map<std::string, std::string> left = definitions(lab.functions);
  for (auto function = left.begin(); function != left.end();) {
    if (!mentions(text, function->first, /*dot=*/false)) {
      ++function;
      continue;
    }
    text += " " + function->second;
    left.erase(function);
    function = left.begin();
  }
  std::set<std::string> steps;
  for (const Step& step : lab.steps) {
    if (mentions(text, step.name, /*dot=*/true)) steps.insert(step.name);
  }
  return steps;
}

}  // namespace trainyard::lab
