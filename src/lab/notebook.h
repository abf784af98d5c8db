// A lab as a Jupyter notebook (nbformat 4.5): the question, the code that runs it through the
// Python package, and a section for each heading of its report, with what came out.
#pragma once

#include <string>

#include "lab/lab_file.h"
#include "report/document.h"

namespace trainyard::lab {

struct NotebookOptions {
  Choices choices = {};
  std::string name;    // as ty.lab() takes it
  bool blank = false;  // conclusions are left for the reader to write
};

// Deterministic: the same document gives the same bytes.
std::string notebook(const report::Document& document, const NotebookOptions& options);

}  // namespace trainyard::lab
