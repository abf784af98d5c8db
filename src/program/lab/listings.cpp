#include "program/lab/listings.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "program/lab/course.h"
#include "program/lab/run_lab.h"

namespace trainyard::lab {
namespace {

using report::Align;

std::string place_text(const CoursePlace& place) {
  return place.section.empty() ? place.lab : fmt::format("{}: {}", place.lab, place.section);
}

// A row for the question, and its fields for programs.
Json add_question(const CourseQuestion& question, const std::vector<CoursePlace>& places,
                  report::Table& table) {
  Json answered_by = Json::array();
  std::vector<std::string> words;
  for (const CoursePlace& place : places) {
    words.push_back(place_text(place));
    answered_by.push_back(Json::object({{"lab", place.lab}, {"section", place.section}}));
  }
  table.add_row({question.id, fmt::format("{}{}", question.points, question.bonus ? "*" : ""),
                 question.asks, words.empty() ? "-" : join(words, "; ")});
  return Json::object({{"id", question.id},
                       {"points", question.points},
                       {"bonus", question.bonus},
                       {"asks", question.asks},
                       {"answered_by", std::move(answered_by)}});
}

}  // namespace

std::vector<Lab> all_labs() {
  std::vector<Lab> labs;
  for (const std::string& name : lab_names()) labs.push_back(load_lab(name));
  return labs;
}

report::Document list_document() {
  report::Document document;
  document.title = "Labs";
  report::Table table(
      {{"lab", Align::kLeft}, {"what it answers", Align::kLeft, 70}, {"--quick"}, {"full"}});
  document.data["labs"] = Json::array();
  const std::vector<Lab> labs = all_labs();
  const std::vector<Texts> texts = texts_of(labs);
  for (size_t i = 0; i < labs.size(); ++i) {
    const Lab& lab = labs[i];
    table.add_row({lab.name, texts[i].title, lab.quick_time, lab.full_time});
    document.data["labs"].push_back(Json::object({{"name", lab.name},
                                                  {"title", texts[i].title},
                                                  {"question", texts[i].question},
                                                  {"quick_time", lab.quick_time},
                                                  {"full_time", lab.full_time},
                                                  {"has_course_settings", !lab.course.empty()}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{
      "Times are on two cores. `trainyard lab show NAME` shows what a lab runs; `trainyard lab run "
      "NAME --quick` runs it; `trainyard lab list --course` lists the questions of the course."});
  return document;
}

report::Document course_list_document(const std::string& prefix) {
  report::Document document;
  document.title = "Questions of the course";
  document.data = Json::object({{"questions", Json::array()}});
  const auto places = course_places(all_labs());
  for (const CourseProblem& problem : course_problems()) {
    report::Table table({{"question", Align::kLeft},
                         {"points"},
                         {"what it asks", Align::kLeft, 70},
                         {"lab: section", Align::kLeft, 50}});
    for (const CourseQuestion& question : problem.questions) {
      if (!question.id.starts_with(prefix)) continue;
      const auto found = places.find(question.id);
      document.data["questions"].push_back(add_question(
          question, found != places.end() ? found->second : std::vector<CoursePlace>(), table));
    }
    if (table.num_rows() == 0) continue;
    document.blocks.emplace_back(report::Heading{problem.title});
    document.blocks.emplace_back(std::move(table));
  }
  TY_REQUIRE(!document.blocks.empty(),
             "no question of the course begins with '{}'; 'trainyard lab list --course' lists all",
             prefix);
  document.blocks.emplace_back(report::Paragraph{
      "`trainyard lab run --course hw7-p2` answers a problem. Points with * are a bonus."});
  return document;
}

report::Document show_document(const Lab& lab, const Choices& choices,
                               const std::filesystem::path& directory) {
  report::Document document;
  const Texts texts = texts_of(lab, choices);
  document.title = texts.title;
  document.lead = texts.question;
  const Json settings = settings_of(lab, choices);
  document.data =
      Json::object({{"name", lab.name}, {"settings", settings}, {"commands", Json::array()}});
  report::Table values({{"setting", Align::kLeft}, {"value", Align::kLeft}});
  for (const auto& [name, value] : settings.members()) {
    values.add_row({name, value.is_string() ? value.as_string() : value.dump(-1)});
  }
  if (values.num_rows() > 0) {
    document.blocks.emplace_back(report::Heading{"Settings (--set NAME=VALUE)"});
    document.blocks.emplace_back(std::move(values));
  }
  document.blocks.emplace_back(report::Heading{"Commands"});
  report::Table commands(
      {{"result", Align::kLeft}, {"command", Align::kLeft}, {"done", Align::kLeft}});
  // What is done is told by files, so a lab that was stopped goes on where it was.
  const std::vector<Cell> cells = cells_of(lab, choices, directory);
  const std::vector<bool> done = are_done(cells, directory);
  for (size_t i = 0; i < cells.size(); ++i) {
    std::vector<std::string> words = {"trainyard"};
    for (const std::string& word : cells[i].words) words.push_back(shell_word(word));
    commands.add_row({cells[i].step, join(words, " "), done[i] ? "yes" : ""});
    document.data["commands"].push_back(Json::object({{"step", cells[i].step},
                                                      {"words", Json::array_of(cells[i].words)},
                                                      {"done", static_cast<bool>(done[i])}}));
  }
  document.blocks.emplace_back(std::move(commands));
  return document;
}

}  // namespace trainyard::lab
