// The questions of the course (labs/course/questions.yaml), and where labs answer them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/yaml.h"
#include "program/lab/lab_file.h"

namespace trainyard::lab {

struct CourseQuestion {
  std::string id;      // "hw7-p2.3"
  std::string number;  // "3"
  std::string label;   // "Homework 7, 2.3"
  int64_t points = 0;
  bool bonus = false;
  std::string asks;
};

struct CourseProblem {
  std::string id;     // "hw7-p2"
  std::string title;  // "Homework 7, problem 2: Data parallelism on one server"
  std::vector<CourseQuestion> questions;
};

// In the order of the documents.
const std::vector<CourseProblem>& course_problems();
// These throw Error with the nearest names.
const CourseProblem& course_problem(const std::string& id);
const CourseQuestion& course_question(const std::string& id);

// The ids of a block's `course:` (a word or a list). Throws Error with file and line for one that
// does not exist.
std::vector<std::string> questions_of(const YamlView& block);

// A part of a lab's report that answers a question.
struct CoursePlace {
  std::string lab;
  std::string section;  // its heading, queries as "…"; empty: before the first
};

// By id of the question, in the order of the labs.
std::map<std::string, std::vector<CoursePlace>> course_places(const std::vector<Lab>& labs);

// The headings of a lab's report, in order, queries as "…".
std::vector<std::string> section_headings(const Lab& lab);

// The labs that answer questions of the problem, by name.
std::vector<std::string> labs_of(const CourseProblem& problem);

}  // namespace trainyard::lab
