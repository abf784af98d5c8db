#include "studies/conformance.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "engine/compiler.h"
#include "models/onnx/import.h"
#include "tensor/text.h"

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

std::string unreadable_text(const FoundCases& found) {
  if (found.unreadable.empty()) return "";
  const auto& [where, reason] = found.unreadable.front();
  return fmt::format("; folders that cannot be read: {}, the first {}: {}", found.unreadable.size(),
                     where.string(), reason);
}

using Form = onnx_io::DeclaredInput::Form;

// The values of one kind in a data set. A sequence is its elements one after the other, an absent
// optional value nothing: so the imported graph has them.
struct GivenValues {
  std::vector<Tensor> tensors;
  onnx_io::ImportOptions options;  // shapes of tensors and of elements
};

// <set>/input_0.pb, input_1.pb, … in order.
GivenValues read_values(const fs::path& set, std::string_view kind, std::span<const Form> forms,
                        std::span<const std::string> names) {
  GivenValues given;
  for (size_t i = 0;; ++i) {
    const fs::path path = set / fmt::format("{}_{}.pb", kind, i);
    std::error_code problem;
    const bool there = fs::exists(path, problem);
    TY_REQUIRE(!problem, "{}: cannot be read: {}", path.string(), problem.message());
    if (!there) return given;
    const Form form = i < forms.size() ? forms[i] : Form::kTensor;
    auto value = onnx_io::import_value(path, form);
    if (i < names.size() && form == Form::kTensor) {
      given.options.shapes[names[i]] = value->at(0).shape();
      given.options.values[names[i]] = std::make_shared<const Tensor>(value->at(0).clone());
    } else if (i < names.size()) {
      auto& shapes = given.options.lists[names[i]];
      if (value) shapes.emplace();
      for (size_t j = 0; value && j < value->size(); ++j) shapes->push_back((*value)[j].shape());
    }
    if (!value) continue;
    for (Tensor& tensor : *value) given.tensors.push_back(std::move(tensor));
  }
}

// Data of another shape than the file declares are left to it: some of bf16 lie in one row.
void keep_declared_shapes(const std::vector<onnx_io::DeclaredInput>& declared,
                          onnx_io::ImportOptions& options) {
  for (const onnx_io::DeclaredInput& input : declared) {
    const auto given = options.shapes.find(input.name);
    if (given == options.shapes.end() || !input.dims) continue;
    if (given->second.rank() != static_cast<int64_t>(input.dims->size())) {
      options.shapes.erase(given);
    }
  }
}

std::vector<std::string> operators_of(const Graph& graph) {
  std::set<std::string> names;
  for (const NodeId id : graph.node_ids()) names.insert(graph.node(id).op);
  return {names.begin(), names.end()};
}

// The value of an input, if it is known before the run or given by the data.
const Tensor* given_constant(const NodeView& node, size_t i, std::span<const Tensor> inputs) {
  if (const Tensor* known = node.input_constant(i)) return known;
  const std::span<const ValueId> ids = node.graph().inputs();
  const auto at = std::find(ids.begin(), ids.end(), node.input(i));
  const auto index = static_cast<size_t>(at - ids.begin());
  return index < inputs.size() ? &inputs[index] : nullptr;
}

// Operators whose expected numbers NumPy's generator drew; no other generator can give them.
bool draws_numbers(const Graph& graph, std::span<const Tensor> inputs) {
  for (const NodeId id : graph.node_ids()) {
    const NodeView node(graph, id);
    if (node.op().starts_with("Random") || node.op() == "Bernoulli" || node.op() == "Multinomial") {
      return true;
    }
    if (node.op() == "Dropout" && node.has_input(2)) {
      const Tensor* ratio = given_constant(node, 1, inputs);
      if (ratio == nullptr || element_as_double(*ratio, 0) != 0) return true;
    }
  }
  return false;
}

// The test data hold bf16 as the u16 of its bits, as NumPy has no such type, and some of it in one
// row.
Tensor with_declared_type(const Tensor& stored, const TensorType& declared) {
  Tensor tensor = stored.clone();
  if (declared.dtype == DType::kBF16 && stored.dtype() == DType::kU16) {
    tensor = Tensor(declared.dtype, stored.shape());
    std::memcpy(tensor.data(), stored.data(), static_cast<size_t>(stored.num_bytes()));
  }
  const int64_t wanted = declared.shape.num_elements();
  if (tensor.shape().rank() == declared.shape.rank()) return tensor;
  if (tensor.num_elements() == wanted) return tensor.reshaped(declared.shape);
  if (tensor.num_elements() != 1) return tensor;
  // One number for all: only the type of the operand matters.
  Tensor filled(tensor.dtype(), declared.shape);
  const auto size = static_cast<size_t>(dtype_size(tensor.dtype()));
  for (int64_t i = 0; i < wanted; ++i) {
    std::memcpy(static_cast<std::byte*>(filled.data()) + static_cast<size_t>(i) * size,
                tensor.data(), size);
  }
  return filled;
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

// Reads the data of a set and the model with its inputs bound to their shapes.
Graph import_for(const fs::path& model, DataSet& set) {
  const onnx_io::DeclaredValues declared = onnx_io::declared_values(model);
  std::vector<Form> forms;
  std::vector<std::string> names;
  for (const onnx_io::DeclaredInput& input : declared.inputs) {
    forms.push_back(input.form);
    names.push_back(input.name);
  }
  GivenValues inputs = read_values(set.folder, "input", forms, names);
  set.inputs = std::move(inputs.tensors);
  set.outputs = read_values(set.folder, "output", declared.outputs, {}).tensors;
  keep_declared_shapes(declared.inputs, inputs.options);
  return onnx_io::import_model(model, inputs.options);
}

std::string run_set(Graph graph, const DataSet& set, const ConformanceOptions& options) {
  runtime::CompileOptions how;
  how.threads = options.threads;
  how.reference_only = options.reference_only;
  const runtime::Executable executable = runtime::compile(std::move(graph), how);
  TY_REQUIRE(executable.inputs().size() <= set.inputs.size(),
             "the model has {} inputs, the data {}", executable.inputs().size(), set.inputs.size());
  runtime::ExecutionContext context(executable);
  for (size_t i = 0; i < executable.inputs().size(); ++i) {
    context.set_input(i, with_declared_type(set.inputs[i], executable.inputs()[i].type));
  }
  context.run();
  for (size_t i = 0; i < set.outputs.size() && i < executable.outputs().size(); ++i) {
    const Tensor& got = context.output(i);
    const std::string reason = difference(got, with_declared_type(set.outputs[i], got.type()));
    if (!reason.empty()) {
      return fmt::format("output '{}': {}", executable.outputs()[i].name, reason);
    }
  }
  return {};
}

// Cases whose expected numbers do not follow from their file.
std::string_view wrong_data(std::string_view name) {
  if (name == "test_adam_multiple")
    return "the file leaves out the epsilon of the expected numbers";
  return "";
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
  if (const std::string_view reason = wrong_data(result.name); !reason.empty()) {
    return refuse(Verdict::kUnsupported, std::string(reason));
  }
  for (const fs::path& path : sets) {
    DataSet set{.folder = path, .inputs = {}, .outputs = {}};
    Graph graph;
    try {
      graph = import_for(folder / "model.onnx", set);
    } catch (const Error& problem) {
      return refuse(Verdict::kUnsupported, without_path(problem.what(), folder.string() + "/"));
    }
    result.operators = operators_of(graph);
    if (draws_numbers(graph, set.inputs)) {
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
    if (got.dtype() == DType::kText) {
      if (text_at(got.view(), i) == text_at(expected.view(), i)) continue;
      return fmt::format("element {} is '{}', expected '{}'", i, text_at(got.view(), i),
                         text_at(expected.view(), i));
    }
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
  TY_REQUIRE(!found.cases.empty(), "'{}' holds no test cases (folders with model.onnx){}{}",
             folder.string(),
             options.filter.empty() ? "" : " whose name contains '" + options.filter + "'",
             unreadable_text(found));
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
