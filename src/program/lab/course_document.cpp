// The report of a problem of the course, made of the parts of labs that answer its questions.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/shell.h"
#include "base/text.h"
#include "program/lab/course.h"
#include "program/lab/lab_report.h"

namespace trainyard::lab {
namespace {

bool has(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// What one lab says, with the parts that were shown already.
struct LabAnswers {
  const LabResult* result;
  std::vector<ReportSection> sections;
  std::set<const report::Block*> shown = {};
};

// The commands of the steps that the parts ask for, as a shell takes them.
std::string commands_text(const LabResult& result, const std::set<std::string>& steps) {
  std::string text;
  for (const Cell& cell : result.cells) {
    if (steps.count(cell.step) == 0) continue;
    std::vector<std::string> words = {"trainyard"};
    for (const std::string& word : cell.words) words.push_back(shell_word(word));
    text += (text.empty() ? "" : "\n") + join(words, " ");
  }
  return text;
}

// A section with those of its items that answer a question and were not shown before.
struct AnswerPart {
  const ReportSection* section;
  std::vector<const ReportItem*> items;
};

class CourseWriter {
 public:
  explicit CourseWriter(report::Document& document) : document_(document) {}

  void add(const CourseQuestion& question, std::vector<LabAnswers>& labs) {
    add(report::Heading{heading_of(question)});
    add(report::Paragraph{question.asks, report::Tone::kQuestion});
    bool answered = false;
    bool shown_before = false;
    for (LabAnswers& lab : labs) {
      const std::vector<AnswerPart> parts = parts_of(question, lab, shown_before);
      if (!parts.empty()) add_parts(parts, *lab.result);
      answered = answered || !parts.empty();
    }
    if (answered) return;
    add(report::Paragraph{shown_before ? "Answered together with a question before this one."
                                       : "No lab answers this question.",
                          shown_before ? report::Tone::kPlain : report::Tone::kNotice});
  }

 private:
  static std::string heading_of(const CourseQuestion& question) {
    return fmt::format("Question {} ({} point{}{})", question.number, question.points,
                       question.points == 1 ? "" : "s", question.bonus ? ", bonus" : "");
  }

  void add(report::Block block) { document_.blocks.push_back(std::move(block)); }

  static std::vector<AnswerPart> parts_of(const CourseQuestion& question, LabAnswers& lab,
                                          bool& shown_before) {
    std::vector<AnswerPart> parts;
    for (const ReportSection& section : lab.sections) {
      AnswerPart part{&section, {}};
      for (const ReportItem& item : section.items) {
        // The questions of a heading are those of blocks that name none of their own.
        const auto& asked = item.questions.empty() ? section.questions : item.questions;
        if (!has(asked, question.id)) continue;
        if (lab.shown.insert(&item.block).second) {
          part.items.push_back(&item);
        } else {
          shown_before = true;
        }
      }
      if (!part.items.empty()) parts.push_back(std::move(part));
    }
    return parts;
  }

  // What they say, below the commands that they are of.
  void add_parts(const std::vector<AnswerPart>& parts, const LabResult& result) {
    std::set<std::string> steps;
    for (const AnswerPart& part : parts) {
      for (const ReportItem* item : part.items)
        steps.insert(item->steps.begin(), item->steps.end());
    }
    const std::string commands = commands_text(result, steps);
    add(report::Paragraph{fmt::format("From lab `{}`{}:", result.lab->name,
                                      commands.empty() ? "" : ", by these commands")});
    if (!commands.empty()) add(report::Paragraph{commands, report::Tone::kCode});
    for (const AnswerPart& part : parts) {
      if (!part.section->heading.empty()) {
        add(report::Paragraph{"**" + part.section->heading + "**"});
      }
      for (const ReportItem* item : part.items) add(item->block);
    }
  }

  report::Document& document_;
};

}  // namespace

report::Document course_document(const CourseProblem& problem,
                                 const std::vector<LabResult>& results,
                                 const std::string& command) {
  report::Document document;
  document.title = problem.title;
  std::vector<LabAnswers> labs;
  std::vector<std::string> names;
  document.data = Json::object({{"problem", problem.id}, {"labs", Json::object()}});
  for (const LabResult& result : results) {
    labs.push_back({&result, lab_sections(*result.lab, result.data)});
    names.push_back(result.lab->name);
    document.data["labs"][result.lab->name] = result.data;
    const std::string weak = weak_evidence(*result.lab, result.data);
    if (!weak.empty()) {
      document.blocks.emplace_back(report::Paragraph{
          fmt::format("Lab {}: {}", result.lab->name, weak), report::Tone::kNotice});
    }
  }
  document.lead = fmt::format("Answered by {} of the program: {}.",
                              names.size() == 1 ? "a lab" : "labs", join(names, ", "));
  CourseWriter writer(document);
  for (const CourseQuestion& question : problem.questions) writer.add(question, labs);
  for (const LabResult& result : results) {
    document.blocks.emplace_back(
        report::Provenance{command, result.data.at("settings"), result.data.at("machine")});
  }
  return document;
}

}  // namespace trainyard::lab
