#include "program/lab/course.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "program/lab/embedded.h"
#include "program/lab/listings.h"
#include "program/lab/query.h"

namespace trainyard::lab {
namespace {

constexpr std::string_view kQuestionsFile = "course/questions.yaml";

// "p2" -> "2", "a" -> "A": as people write it.
std::string problem_number(const std::string& key) {
  if (key.size() > 1 && key[0] == 'p') return key.substr(1);
  std::string letter = key;
  letter[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(letter[0])));
  return letter;
}

CourseProblem read_problem(const std::string& document, const std::string& title,
                           const std::string& key, const YamlView& view) {
  view.only({"title", "questions"});
  const std::string number = problem_number(key);
  const bool part = key == "a" || key == "b";
  CourseProblem problem;
  problem.id = document + "-" + key;
  problem.title = fmt::format("{}, {} {}: {}", title, part ? "part" : "problem", number,
                              view.at("title").text());
  for (const auto& [name, question] : view.at("questions").members()) {
    question.only({"points", "bonus", "asks"});
    constexpr int64_t kMostPoints = 100;
    const auto bonus = question.find("bonus");
    problem.questions.push_back({.id = problem.id + "." + name,
                                 .number = name,
                                 .label = fmt::format("{}, {}.{}", title, number, name),
                                 .points = question.at("points").count(1, kMostPoints),
                                 .bonus = bonus && bonus->boolean(),
                                 .asks = question.at("asks").text()});
  }
  return problem;
}

std::vector<CourseProblem> read_problems() {
  const auto file = YamlDocument::parse(embedded_text(embedded_files(), kQuestionsFile),
                                        "labs/" + std::string(kQuestionsFile));
  std::vector<CourseProblem> problems;
  for (const auto& [document, view] : file->root().members()) {
    view.only({"title", "problems"});
    for (const auto& [key, problem] : view.at("problems").members()) {
      problems.push_back(read_problem(document, view.at("title").text(), key, problem));
    }
  }
  return problems;
}

// A heading without data: what only a result can say is left open.
std::string open_heading(const YamlView& heading) {
  std::string text;
  for_each_part(heading.text(), heading.where(),
                [&](std::string_view part, bool is_program) { text += is_program ? "…" : part; });
  return text;
}

}  // namespace

const std::vector<CourseProblem>& course_problems() {
  static const std::vector<CourseProblem> problems = read_problems();
  return problems;
}

const CourseProblem& course_problem(const std::string& id) {
  std::vector<std::string> ids;
  for (const CourseProblem& problem : course_problems()) {
    if (problem.id == id) return problem;
    ids.push_back(problem.id);
  }
  throw_error("there is no problem '{}' of the course, only {}.{}", id, join(ids, ", "),
              did_you_mean(id, ids));
}

const CourseQuestion& course_question(const std::string& id) {
  std::vector<std::string> ids;
  for (const CourseProblem& problem : course_problems()) {
    for (const CourseQuestion& question : problem.questions) {
      if (question.id == id) return question;
      ids.push_back(question.id);
    }
  }
  throw_error("there is no question '{}' of the course.{} 'trainyard lab list --course' lists them",
              id, did_you_mean(id, ids));
}

std::vector<std::string> questions_of(const YamlView& block) {
  const auto course = block.find("course");
  if (!course) return {};
  std::vector<std::string> ids;
  if (course->json().is_array()) {
    for (const YamlView& item : course->items()) ids.push_back(item.text());
  } else {
    ids.push_back(course->text());
  }
  for (const std::string& id : ids) {
    try {
      course_question(id);
    } catch (const Error& error) {
      course->fail(error.what());
    }
  }
  return ids;
}

std::map<std::string, std::vector<CoursePlace>> course_places(const std::vector<Lab>& labs) {
  std::map<std::string, std::vector<CoursePlace>> places;
  for (const Lab& lab : labs) {
    std::string section;
    for (const YamlView& block : lab.file->root().at("report").items()) {
      if (const auto heading = block.find("heading")) section = open_heading(*heading);
      for (const std::string& id : questions_of(block)) {
        std::vector<CoursePlace>& known = places[id];
        const bool again =
            !known.empty() && known.back().lab == lab.name && known.back().section == section;
        if (!again) known.push_back({lab.name, section});
      }
    }
  }
  return places;
}

std::vector<std::string> section_headings(const Lab& lab) {
  std::vector<std::string> headings;
  for (const YamlView& block : lab.file->root().at("report").items()) {
    if (const auto heading = block.find("heading")) headings.push_back(open_heading(*heading));
  }
  return headings;
}

std::vector<std::string> labs_of(const CourseProblem& problem) {
  const auto places = course_places(all_labs());
  std::vector<std::string> names;
  for (const CourseQuestion& question : problem.questions) {
    const auto found = places.find(question.id);
    if (found == places.end()) continue;
    for (const CoursePlace& place : found->second) {
      if (std::find(names.begin(), names.end(), place.lab) == names.end()) {
        names.push_back(place.lab);
      }
    }
  }
  return names;
}

}  // namespace trainyard::lab
