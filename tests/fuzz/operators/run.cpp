#include "fuzz/operators/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <new>

#include "base/error.h"
#include "engine/compiler.h"
#include "engine/dynamic_node.h"
#include "engine/kernels/kernel_table.h"
#include "fuzz/operators/fence.h"
#include "ops/control_flow.h"
#include "ops/inference.h"
#include "ops/op_def.h"
#include "support/layout_run.h"

namespace trainyard::fuzz {
namespace {

using testing::OpCase;
using testing::PreparedCase;
using Tensors = std::vector<Tensor>;

constexpr double kTameValue = 64;
constexpr double kTolerance = 2e-3;
constexpr double kHalfTolerance = 5e-2;
// More is not refused, but takes its time.
constexpr int64_t kMostBytes = int64_t{1} << 24U;

struct Ran {
  Tensors outputs;
  bool refused = false;
  std::string words;  // of the refusal, or of what must not happen
  bool wrong = false;
};

Ran attempt(const std::function<Tensors()>& run) {
  Ran ran;
  try {
    ran.outputs = run();
  } catch (const Error& error) {
    ran.refused = true;
    ran.words = error.what();
  } catch (const Failure& failure) {  // out of memory
    ran.refused = true;
    ran.words = failure.what();
  } catch (const std::bad_alloc&) {
    ran.refused = true;
    ran.words = "out of memory";
  } catch (const std::exception& problem) {
    ran.wrong = true;
    ran.words = problem.what();
  }
  return ran;
}

PreparedCase build(const OpCase& c) {
  PreparedCase p;
  std::vector<ValueId> ids;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const testing::OpInput& input = c.inputs[i];
    p.inputs.push_back(input.present ? fenced_copy(make_tensor(input, i)) : Tensor());
    const std::string name = fmt::format("x{}", i);
    if (!input.present) {
      ids.push_back(kNoValue);
    } else if (input.known) {
      auto data = std::make_shared<const Tensor>(p.inputs.back().clone());
      ids.push_back(p.graph.add_initializer(name, std::move(data)));
    } else {
      ids.push_back(p.graph.add_input(name, input.type));
    }
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < c.outputs.size(); ++i) names.push_back(fmt::format("y{}", i));
  p.node = p.graph.add_node("node", c.op, ids, c.attributes, names,
                            std::vector<TensorType>(names.size()));
  ops::infer_node(p.graph, p.node);
  p.graph.set_outputs(p.graph.node(p.node).outputs);
  return p;
}

bool is_large(const PreparedCase& p) {
  for (const ValueId id : p.graph.node(p.node).outputs) {
    if (p.graph.value(id).type.num_bytes() > kMostBytes) return true;
  }
  return false;
}

Tensors run_compiled(const PreparedCase& p, bool reference) {
  runtime::CompileOptions options;
  options.reference_only = reference;
  options.threads = reference ? 1 : 2;
  runtime::ExecutionContext context(runtime::compile(p.graph, options));
  Tensors inputs;
  for (const ValueId id : p.graph.inputs()) {
    const std::string& name = p.graph.value(id).name;
    const Tensor& tensor = p.inputs[static_cast<size_t>(std::stoi(name.substr(1)))];
    inputs.emplace_back(tensor.reshaped(tensor.shape()));
  }
  return run_once(context, inputs);
}

Tensors run_late(const PreparedCase& p) {
  std::vector<const Tensor*> inputs;
  for (const Tensor& tensor : p.inputs) inputs.push_back(tensor.empty() ? nullptr : &tensor);
  return runtime::run_dynamic_node(p.graph, p.node, inputs, /*reference_only=*/true);
}

bool is_tame(const PreparedCase& p) {
  for (const auto& [name, attribute] : p.graph.node(p.node).attributes) {
    // Rates, factors and thresholds mean something between 0 and 1, or a little beyond.
    const auto* number = std::get_if<float>(&attribute);
    if (number != nullptr && !(*number >= -1 && *number <= 1)) return false;
  }
  for (const Tensor& tensor : p.inputs) {
    if (tensor.empty() || !is_float(tensor.dtype())) continue;
    for (int64_t i = 0; i < tensor.num_elements(); ++i) {
      const double size = std::fabs(element_as_double(tensor, i));
      if (!(size <= kTameValue) || (size != 0 && size < 1 / kTameValue)) return false;
    }
  }
  return true;
}

bool near(double a, double b, DType dtype) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (a == b || !is_float(dtype)) return a == b;
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  return std::fabs(a - b) <= (half ? kHalfTolerance : kTolerance) * (1 + std::fabs(b));
}

// What differs, in words.
std::string difference(const Tensors& found, const Tensors& expected) {
  for (size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    if (found[i].empty() || expected[i].empty()) continue;
    if (found[i].type() != expected[i].type()) {
      return fmt::format("output {} is {}, expected {}", i, found[i].type().to_string(),
                         expected[i].type().to_string());
    }
    if (found[i].dtype() == DType::kText) continue;
    for (int64_t j = 0; j < found[i].num_elements(); ++j) {
      const double a = element_as_double(found[i], j);
      const double b = element_as_double(expected[i], j);
      if (near(a, b, found[i].dtype())) continue;
      return fmt::format("element {} of output {} is {}, expected {}", j, i, a, b);
    }
  }
  return "";
}

class Comparison {
 public:
  Comparison(Outcome& outcome, const Ran& expected, bool tame)
      : outcome_(outcome), expected_(expected), tame_(tame) {}

  // Without passes and on its own, a kernel is not asked to refuse what the reference refuses:
  // `strict` is for what users run.
  void add(std::string_view what, const Ran& ran, bool strict) {
    if (ran.wrong) return say(what, ran.words);
    if (ran.refused != expected_.refused) {
      if (!strict) return;
      return say(what,
                 ran.refused
                     ? fmt::format("refuses what the reference computes: {}", ran.words)
                     : fmt::format("computes what the reference refuses: {}", expected_.words));
    }
    if (ran.refused || !tame_) return;
    ++outcome_.compared;
    const std::string differs = difference(ran.outputs, expected_.outputs);
    if (!differs.empty()) say(what, differs);
  }

 private:
  void say(std::string_view what, std::string_view words) {
    if (outcome_.wrong.empty()) outcome_.wrong = fmt::format("{}: {}", what, words);
  }

  Outcome& outcome_;
  const Ran& expected_;
  bool tame_;
};

// Outputs of the reference end at the fence too, as far as kernels that may be fast allow.
Tensor allocate_fenced(TensorType type) {
  return type.dtype == DType::kText ? Tensor(std::move(type)) : fenced(std::move(type));
}

// Inputs with the room behind them that fast kernels count on.
std::vector<Tensor> aligned_copies(const Tensors& tensors) {
  Tensors copies;
  for (const Tensor& tensor : tensors) {
    if (tensor.empty()) {
      copies.emplace_back();
      continue;
    }
    copies.push_back(allocate_fenced(tensor.type()));
    if (tensor.dtype() == DType::kText) {
      copies.back() = tensor.clone();
    } else if (tensor.num_bytes() > 0) {
      std::memcpy(copies.back().data(), tensor.data(), static_cast<size_t>(tensor.num_bytes()));
    }
  }
  return copies;
}

void run_kernels(PreparedCase& p, Comparison& comparison) {
  const NodeView node(p.graph, p.node);
  const kernels::KernelDef& reference = *kernels::kernels_of(node.op()).back();
  const Ran fenced_run = attempt([&] { return run_kernel(p, reference, allocate_fenced); });
  comparison.add("reference, fenced", fenced_run, true);
  p.inputs = aligned_copies(p.inputs);
  for (const kernels::KernelDef* def : kernels::kernels_of(node.op())) {
    if (def->library == "reference" || def->make_outputs != nullptr) continue;
    if (def->refuses != nullptr && !def->refuses(node).empty()) continue;
    if (def->create != nullptr) {
      comparison.add(def->library, attempt([&] { return run_kernel(p, *def, allocate_fenced); }),
                     false);
      continue;
    }
    if (def->layouts == nullptr) continue;
    for (const testing::Offer offer : testing::kOffers) {
      const Ran ran = attempt([&] {
        auto found = testing::run_in_layouts(node, *def, p.inputs, offer);
        return found ? std::move(found->outputs) : Tensors();
      });
      comparison.add(fmt::format("{} in layouts", def->library), ran, false);
    }
  }
}

bool has_static_shapes(const PreparedCase& p) {
  for (const ValueId id : p.graph.node(p.node).outputs) {
    if (!p.graph.value(id).type.shape.is_static()) return false;
  }
  return true;
}

}  // namespace

Outcome run_case(const OpCase& c) {
  Outcome outcome;
  PreparedCase p;
  const Ran built = attempt([&] {
    p = build(c);
    (void)ops::verify_graph(p.graph);
    (void)ops::node_cost({p.graph, p.node});
    return Tensors();
  });
  if (built.wrong) outcome.wrong = "inference: " + built.words;
  if (built.wrong || built.refused || is_large(p)) return outcome;
  const Ran expected = attempt([&] { return run_compiled(p, /*reference=*/true); });
  if (expected.wrong) outcome.wrong = "reference: " + expected.words;
  if (expected.wrong) return outcome;
  outcome.computed = !expected.refused;
  Comparison comparison(outcome, expected, is_tame(p));
  comparison.add("compiled", attempt([&] { return run_compiled(p, /*reference=*/false); }), true);
  comparison.add("in the run", attempt([&] { return run_late(p); }), true);
  if (has_static_shapes(p)) run_kernels(p, comparison);
  return outcome;
}

}  // namespace trainyard::fuzz
