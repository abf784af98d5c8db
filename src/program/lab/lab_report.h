// The report of a lab, as a whole or by its sections.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "program/lab/cells.h"
#include "program/lab/course.h"
#include "report/document.h"

namespace trainyard::lab {

struct ReportItem {
  report::Block block;
  std::vector<std::string> questions;  // of the course that this block answers
  std::set<std::string> steps;         // whose results it shows
};

// The blocks from one heading to the next.
struct ReportSection {
  std::string heading;                 // empty: before the first
  std::vector<std::string> questions;  // of the course that all of it answers
  std::vector<ReportItem> items;
};

// The blocks of the lab's report, filled in. Throws Error with file and line.
std::vector<ReportSection> lab_sections(const Lab& lab, const Json& data);

// What makes a run weak evidence, or nothing.
std::string weak_evidence(const Lab& lab, const Json& data);

// The steps whose results a text with queries asks for, by itself or by functions of the lab.
std::set<std::string> steps_asked(const Lab& lab, const Json& block);

// All of it with title, question, what weakens it, and what made it.
report::Document lab_document(const Lab& lab, const Json& data, const std::string& command);

// A lab that was run.
struct LabResult {
  const Lab* lab = nullptr;
  std::vector<Cell> cells;
  Json data;
};

// A problem of the course: each question with the parts of these labs that answer it and the
// commands that they are of.
report::Document course_document(const CourseProblem& problem,
                                 const std::vector<LabResult>& results, const std::string& command);

}  // namespace trainyard::lab
