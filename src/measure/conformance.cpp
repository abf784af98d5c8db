#include "measure/conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "onnx_io/import.h"
#include "runtime/compiler.h"

namespace trainyard::measure {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostEntries = 100'000;
constexpr std::string_view kDataFolder = "test_data_set_";

// The folders of cases, and of those that may not be read why.
struct FoundCases {
  std::vector<fs::path> cases;
  std::vector<std::pair<fs::path, std::string>> unreadable;
};

FoundCases find_cases(const fs::path& folder, const std::string& filter) {
  TY_REQUIRE(fs::is_directory(folder), "'{}' is not a folder", folder.string());
  FoundCases found;
  int64_t seen = 0;
  std::vector<fs::path> waiting = {folder};
  while (!waiting.empty()) {
    const fs::path where = std::move(waiting.back());
    waiting.pop_back();
    std::error_code problem;
    fs::directory_iterator at(where, problem);
    for (; !problem && at != fs::directory_iterator(); at.increment(problem)) {
      TY_REQUIRE(++seen <= kMostEntries, "{}: more than {} files; expected a folder of test cases",
                 folder.string(), kMostEntries);
      const std::string name = at->path().filename().string();
      std::error_code unknown;
      if (!name.starts_with(kDataFolder) && at->is_directory(unknown) && !at->is_symlink(unknown)) {
        waiting.push_back(at->path());
      }
      if (name != "model.onnx") continue;
      if (where.filename().string().find(filter) != std::string::npos) found.cases.push_back(where);
    }
    if (!problem) continue;
    TY_REQUIRE(where != folder, "{}: cannot be read: {}", folder.string(), problem.message());
    if (where.filename().string().find(filter) != std::string::npos) {
      found.unreadable.emplace_back(where, problem.message());
    }
  }
  std::sort(found.cases.begin(), found.cases.end());
  std::sort(found.unreadable.begin(), found.unreadable.end());
  return found;
}

// <set>/input_0.pb, input_1.pb, … in order.
std::vector<Tensor> read_tensors(const fs::path& set, std::string_view kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const fs::path path = set / fmt::format("{}_{}.pb", kind, i);
    std::error_code problem;
    const bool there = fs::exists(path, problem);
    TY_REQUIRE(!problem, "{}: cannot be read: {}", path.string(), problem.message());
    if (!there) return tensors;
    tensors.push_back(onnx_io::import_tensor(path));
  }
}

// The model with its inputs bound to the shapes the data have.
Graph import_for(const fs::path& model, std::span<const Tensor> inputs) {
  Graph graph = onnx_io::import_model(model);
  onnx_io::ImportOptions options;
  for (size_t i = 0; i < inputs.size() && i < graph.inputs().size(); ++i) {
    const Value& value = graph.value(graph.inputs()[i]);
    if (value.type.shape != inputs[i].shape()) options.shapes[value.name] = inputs[i].shape();
  }
  if (options.shapes.empty()) return graph;
  return onnx_io::import_model(model, options);
}

std::vector<std::string> operators_of(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.node_ids()) names.insert(graph.node(id).op);
  return {names.begin(), names.end()};
}

// Operators whose expected numbers NumPy's generator drew; no other generator can give them.
bool draws_numbers(const Graph& graph) {
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.op().starts_with("Random") || node.op() == "Bernoulli" || node.op() == "Multinomial") {
      return true;
    }
    if (node.op() == "Dropout" && node.has_input(2)) {
      const Tensor* ratio = node.input_constant(1);
      if (ratio == nullptr || element_as_double(*ratio, 0) != 0) return true;
    }
  }
  return false;
}

// The test data hold bf16 as the u16 of its bits, as NumPy has no such type.
Tensor with_declared_type(const Tensor& stored, DType declared) {
  if (declared != DType::kBF16 || stored.dtype() != DType::kU16) return stored.clone();
  Tensor tensor(declared, stored.shape());
  std::memcpy(tensor.data(), stored.data(), static_cast<size_t>(stored.num_bytes()));
  return tensor;
}

// Without the folder, which says nothing about the case.
std::string without_path(std::string reason, const std::string& path) {
  for (size_t at = reason.find(path); at != std::string::npos; at = reason.find(path)) {
    reason.erase(at, path.size());
  }
  constexpr std::string_view kModel = "model.onnx: ";
  return reason.starts_with(kModel) ? reason.substr(kModel.size()) : reason;
}

struct DataSet {
  fs::path folder;
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
};

std::string run_set(Graph graph, const DataSet& set, const ConformanceOptions& options) {
  runtime::CompileOptions how;
  how.threads = options.threads;
  how.reference_only = options.reference_only;
  const runtime::Executable executable = runtime::compile(std::move(graph), how);
  TY_REQUIRE(executable.inputs().size() <= set.inputs.size(),
             "the model has {} inputs, the data {}", executable.inputs().size(), set.inputs.size());
  runtime::ExecutionContext context(executable);
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    context.set_input(i, with_declared_type(set.inputs[i], executable.inputs()[i].type.dtype));
  }
  context.run();
  for (size_t i = 0; i < set.outputs.size() && i < executable.outputs().size(); ++i) {
    const Tensor& got = context.output(i);
    const std::string reason = difference(got, with_declared_type(set.outputs[i], got.dtype()));
    if (!reason.empty()) {
      return fmt::format("output '{}': {}", executable.outputs()[i].name, reason);
    }
  }
  return {};
}

CaseResult run_case(const fs::path& folder, const ConformanceOptions& options) {
  CaseResult result;
  result.name = folder.filename().string();
  const auto refuse = [&](Verdict verdict, std::string reason) {
    result.verdict = verdict;
    result.reason = std::move(reason);
    return result;
  };
  std::vector<fs::path> sets;
  std::error_code unreadable;
  for (const auto& entry : fs::directory_iterator(folder, unreadable)) {
    if (entry.path().filename().string().starts_with(kDataFolder)) sets.push_back(entry);
  }
  std::sort(sets.begin(), sets.end());
  if (sets.empty()) return refuse(Verdict::kUnsupported, "there is no data");
  for (const fs::path& path : sets) {
    DataSet set{.folder = path, .inputs = {}, .outputs = {}};
    Graph graph;
    try {
      set.inputs = read_tensors(path, "input");
      set.outputs = read_tensors(path, "output");
      graph = import_for(folder / "model.onnx", set.inputs);
    } catch (const Error& problem) {
      return refuse(Verdict::kUnsupported, without_path(problem.what(), folder.string() + "/"));
    }
    result.operators = operators_of(graph);
    if (draws_numbers(graph)) {
      return refuse(Verdict::kUnsupported, "the expected numbers come from NumPy's generator");
    }
    try {
      std::string reason = run_set(std::move(graph), set, options);
      if (!reason.empty()) return refuse(Verdict::kFailed, std::move(reason));
    } catch (const std::exception& problem) {
      return refuse(Verdict::kFailed, problem.what());
    }
  }
  return result;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kUnsupported:
      return "unsupported";
  }
  return "";
}

std::string difference(const Tensor& got, const Tensor& expected) {
  if (got.type() != expected.type()) {
    return fmt::format("it is {}, expected {}", got.type().to_string(),
                       expected.type().to_string());
  }
  const double relative = got.dtype() == DType::kBF16 ? kBF16RelativeTolerance : kRelativeTolerance;
  for (int64_t i = 0; i < got.num_elements(); ++i) {
    if (is_integer(got.dtype()) || got.dtype() == DType::kBool) {
      if (element_as_int(got, i) == element_as_int(expected, i)) continue;
    } else {
      const double a = element_as_double(got, i);
      const double b = element_as_double(expected, i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      if (std::fabs(a - b) <= kAbsoluteTolerance + relative * std::fabs(b)) continue;
    }
    return fmt::format("element {} is {}, expected {}", i, element_as_double(got, i),
                       element_as_double(expected, i));
  }
  return {};
}

std::vector<CaseResult> run_conformance(const fs::path& folder, const ConformanceOptions& options) {
  const FoundCases found = find_cases(folder, options.filter);
  TY_REQUIRE(!found.cases.empty() || !found.unreadable.empty(),
             "'{}' holds no test cases (folders with model.onnx){}", folder.string(),
             options.filter.empty() ? "" : " whose name contains '" + options.filter + "'");
  std::vector<CaseResult> results;
  results.reserve(found.cases.size());
  for (const fs::path& where : found.cases) results.push_back(run_case(where, options));
  for (const auto& [where, reason] : found.unreadable) {
    results.push_back({.name = where.filename().string(),
                       .verdict = Verdict::kUnsupported,
                       .reason = "the folder cannot be read: " + reason,
                       .operators = {}});
  }
  return results;
}

}  // namespace trainyard::measure
