#include "onnx_io/check.h"

#include <algorithm>
#include <limits>

#include <onnx/checker.h>
#include <onnx/shape_inference/implementation.h>

#include "base/file.h"
#include "base/text.h"
#include "onnx_io/proto.h"

namespace trainyard::onnx_io {
namespace {

enum class OwnVerdict : uint8_t { kRight, kUnsupported, kWrong };

OwnVerdict ask_importer(const std::filesystem::path& path, const ImportOptions& options,
                        CheckReport& report) {
  const std::string prefix = path.string() + ": ";
  const auto add = [&](std::string message) {
    if (message.starts_with(prefix)) message.erase(0, prefix.size());
    report.findings.push_back({"trainyard", "", std::move(message)});
  };
  try {
    import_model(path, options);  // verifies the graph as well
    return OwnVerdict::kRight;
  } catch (const UnsupportedOperators& problem) {
    add(problem.what());
    return OwnVerdict::kUnsupported;
  } catch (const Error& problem) {
    add(problem.what());
    return OwnVerdict::kWrong;
  }
}

std::unordered_map<std::string, int> opsets_of(const onnx::ModelProto& model) {
  std::unordered_map<std::string, int> opsets;
  for (const auto& import : model.opset_import()) {
    opsets[import.domain()] = static_cast<int>(import.version());
  }
  return opsets;
}

// The first line of what ONNX says; the rest repeats the node as text.
std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

// The checker stops at the first thing it finds, so nodes are asked one by one.
void ask_checker_about_nodes(const onnx::ModelProto& model, const std::string& folder,
                             CheckReport& report) {
  onnx::checker::CheckerContext context;
  context.set_ir_version(static_cast<int>(model.ir_version()));
  context.set_opset_imports(opsets_of(model));
  context.set_model_dir(folder);
  const onnx::checker::LexicalScopeContext scope;
  for (const auto& node : model.graph().node()) {
    try {
      onnx::checker::check_node(node, context, scope);
    } catch (const std::exception& problem) {
      report.findings.push_back({"onnx checker", node.name(), first_line(problem.what())});
    }
  }
}

void ask_checker(const onnx::ModelProto& model, const std::filesystem::path& path,
                 CheckReport& report) {
  const size_t before = report.findings.size();
  ask_checker_about_nodes(model, path.parent_path().string(), report);
  if (report.findings.size() > before) return;
  try {
    onnx::checker::check_model(path.string());
  } catch (const std::exception& problem) {
    report.findings.push_back({"onnx checker", "", first_line(problem.what())});
  }
}

void ask_shape_inference(onnx::ModelProto& model, CheckReport& report) {
  constexpr bool kCheckTypes = true;
  constexpr int kStrict = 1;
  constexpr bool kPropagateData = true;
  try {
    onnx::shape_inference::InferShapes(model, onnx::OpSchemaRegistry::Instance(),
                                       {kCheckTypes, kStrict, kPropagateData});
  } catch (const std::exception& problem) {
    // A headline, then a line for each node.
    const std::vector<std::string> lines = split(problem.what(), '\n');
    for (size_t i = lines.size() > 1 ? 1 : 0; i < lines.size(); ++i) {
      if (!lines[i].empty()) report.findings.push_back({"onnx shape inference", "", lines[i]});
    }
  }
}

}  // namespace

CheckReport check_model(const std::filesystem::path& path, const ImportOptions& options) {
  CheckReport report;
  const MappedFile file(path);
  const OwnVerdict verdict = ask_importer(path, options, report);
  onnx::ModelProto model;
  const size_t size = file.bytes().size();
  if (size > static_cast<size_t>(std::numeric_limits<int>::max()) ||
      !model.ParseFromArray(file.bytes().data(), static_cast<int>(size))) {
    return report;
  }
  report.ir_version = model.ir_version();
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") report.opset = import.version();
  }
  report.num_nodes = model.graph().node_size();
  report.num_initializers = model.graph().initializer_size();
  ask_checker(model, path, report);
  if (verdict != OwnVerdict::kWrong) ask_shape_inference(model, report);
  return report;
}

}  // namespace trainyard::onnx_io
