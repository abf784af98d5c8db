// A report as a Jupyter notebook (nbformat 4.5): the question, the code that runs the lab through
// the Python package, and a section for each heading: texts in the order of the report, figures and
// answers as what a cell of code gives, computed when it is executed.
#pragma once

#include <string>

#include "program/lab/choices.h"
#include "report/document.h"

namespace trainyard::lab {

struct NotebookOptions {
  Choices choices = {};
  std::string name;       // as ty.lab() takes it, or ty.course()
  bool course = false;    // `name` is a problem of the course
  std::string runs = {};  // the folder of results; empty: "runs" where the notebook is executed
  bool blank = false;     // conclusions are left for the reader to write
};

// Deterministic: the same document gives the same bytes.
std::string notebook(const report::Document& document, const NotebookOptions& options);

}  // namespace trainyard::lab
