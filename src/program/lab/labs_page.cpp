// The part of docs/labs.md that is made of the labs.
#include <fmt/format.h>

#include "base/text.h"
#include "program/lab/course.h"
#include "program/lab/listings.h"

namespace trainyard::lab {
namespace {

// A text within a cell of a Markdown table or a list.
std::string cell_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

std::string value_text(const Json& value) {
  const std::string text = value.is_string() ? value.as_string() : value.dump(-1);
  return text.empty() ? "`\"\"`" : "`" + cell_text(text) + "`";
}

using Values = std::vector<std::pair<std::string, Json>>;

std::string value_in(const Values& values, const std::string& name) {
  for (const auto& [key, value] : values) {
    if (key == name) return value_text(value);
  }
  return "";
}

std::string settings_table(const Lab& lab) {
  if (lab.settings.empty()) return "";
  const bool course = !lab.course.empty();
  std::string text = fmt::format("| setting | usual | `--quick` |{}\n|---|---|---|{}\n",
                                 course ? " `--scale course` |" : "", course ? "---|" : "");
  for (const auto& [name, value] : lab.settings) {
    text += fmt::format("| {} | {} | {} |", name, value_text(value), value_in(lab.quick, name));
    if (course) text += fmt::format(" {} |", value_in(lab.course, name));
    text += "\n";
  }
  return text + "\n";
}

// Headings with the questions of the course that their parts answer.
std::string sections_list(const Lab& lab,
                          const std::map<std::string, std::vector<CoursePlace>>& places) {
  std::vector<std::pair<std::string, std::vector<std::string>>> sections = {{"", {}}};
  for (const std::string& heading : section_headings(lab)) sections.push_back({heading, {}});
  for (const auto& [id, where] : places) {
    for (const CoursePlace& place : where) {
      if (place.lab != lab.name) continue;
      for (auto& [heading, ids] : sections) {
        if (heading == place.section) ids.push_back(id);
      }
    }
  }
  std::string text;
  for (const auto& [heading, ids] : sections) {
    if (heading.empty() && ids.empty()) continue;
    text += fmt::format("- {}{}\n", heading.empty() ? "At the top" : cell_text(heading),
                        ids.empty() ? "" : " (" + join(ids, ", ") + ")");
  }
  return text.empty() ? "" : text + "\n";
}

std::string questions_table(const std::map<std::string, std::vector<CoursePlace>>& places) {
  std::string text = "| question | points | what it asks | lab: section |\n|---|---|---|---|\n";
  for (const CourseProblem& problem : course_problems()) {
    text += fmt::format("| **{}** | | **{}** | |\n", problem.id, problem.title);
    for (const CourseQuestion& question : problem.questions) {
      std::vector<std::string> words;
      const auto found = places.find(question.id);
      if (found != places.end()) {
        for (const CoursePlace& place : found->second) {
          words.push_back(
              cell_text(place.section.empty() ? place.lab : place.lab + ": " + place.section));
        }
      }
      text += fmt::format("| {} | {}{} | {} | {} |\n", question.id, question.points,
                          question.bonus ? " (bonus)" : "", cell_text(question.asks),
                          join(words, "; "));
    }
  }
  return text;
}

}  // namespace

std::string labs_page() {
  const std::vector<Lab> labs = all_labs();
  const std::vector<Texts> texts = texts_of(labs);
  const auto places = course_places(labs);
  std::string text = std::string(kPageMarker) +
                     "\n\n## The questions of the course\n\n`trainyard lab run --course hw7-p2` "
                     "answers a problem, `trainyard lab export --course hw7-p2 --notebook F.ipynb` "
                     "as a notebook.\n\n" +
                     questions_table(places) + "\n## The labs\n";
  for (size_t i = 0; i < labs.size(); ++i) {
    const Lab& lab = labs[i];
    text += fmt::format("\n### {}\n\n**{}**\n\n{}\n\n", lab.name, cell_text(texts[i].title),
                        cell_text(texts[i].question));
    text += fmt::format("`trainyard lab run {}` (two cores: {}; with `--quick`: {})\n\n", lab.name,
                        lab.full_time, lab.quick_time);
    text += sections_list(lab, places) + settings_table(lab);
    while (text.ends_with("\n\n")) text.pop_back();
  }
  return text;
}

}  // namespace trainyard::lab
