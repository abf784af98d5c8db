// Is this ONNX file right? Asks our own importer and verifier and, for opsets they know, the ONNX
// checker and ONNX's strict shape inference.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/onnx/import.h"

namespace trainyard::onnx_io {

struct Finding {
  std::string source;   // who says so: "trainyard", "onnx checker", "onnx shape inference"
  std::string node;     // empty if it is about the whole file
  std::string message;  // names operator, attribute or value
};

struct CheckReport {
  std::vector<Finding> findings;  // empty: the file is right
  // Why shapes were not checked: none of a few lengths fits the open dimensions. Empty: they were.
  std::string unchecked;
  int64_t ir_version = 0;
  int64_t opset = 0;
  int64_t num_nodes = 0;
  int64_t num_initializers = 0;
  // Whether ONNX's own checker and shape inference were asked: the library here does not know
  // opsets above kJudgedOpset.
  bool judged = false;
};
inline constexpr int64_t kJudgedOpset = 17;

// Throws Error if there is no such file; everything that is wrong inside it is a finding. A file
// that our importer refuses for its content is not given to ONNX's shape inference, which trusts
// what it reads.
CheckReport check_model(const std::filesystem::path& path, const ImportOptions& options = {});

}  // namespace trainyard::onnx_io
