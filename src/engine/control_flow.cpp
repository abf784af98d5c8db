#include "engine/control_flow.h"

#include <algorithm>

#include "base/error.h"
#include "engine/body.h"
#include "ops/control_flow.h"

namespace trainyard::runtime {
namespace {

using Inputs = std::span<const Tensor* const>;

// What a loop may carry, gather, and take for a round; a loop that means it needs far less.
constexpr int64_t kMostBytes = int64_t{2} << 30;

std::vector<const Tensor*> pointers(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> list;
  for (const Tensor& tensor : tensors) list.push_back(&tensor);
  return list;
}

// The number that a tensor of one element holds.
int64_t only_number(const Tensor& tensor, std::string_view what) {
  TY_REQUIRE(tensor.num_elements() == 1, "its {} has {} elements, expected 1", what,
             tensor.num_elements());
  return element_as_int(tensor, 0);
}

// Tensors of one type side by side along a new axis; `open` is their type if there are none.
Tensor stack(const std::vector<Tensor>& parts, const TensorType& open, int64_t axis, bool reverse) {
  std::vector<int64_t> dims = parts.empty() ? open.shape.vector() : parts[0].shape().vector();
  std::replace(dims.begin(), dims.end(), Shape::kUnknown, int64_t{0});
  const Shape part(dims);
  dims.insert(dims.begin() + axis, static_cast<int64_t>(parts.size()));
  Tensor whole(open.dtype, Shape(std::move(dims)));
  std::vector<int64_t> strides = whole.shape().strides();
  const int64_t step = strides[static_cast<size_t>(axis)] * dtype_size(open.dtype);
  strides.erase(strides.begin() + axis);
  for (size_t i = 0; i < parts.size(); ++i) {
    TY_REQUIRE(parts[i].shape() == part, "a round gave shape {}, those before {}",
               parts[i].shape().to_string(), part.to_string());
    const auto at = static_cast<int64_t>(reverse ? parts.size() - 1 - i : i);
    copy_strided(part.dims(), dtype_size(open.dtype), parts[i].data(), part.strides(),
                 static_cast<std::byte*>(whole.data()) + at * step, strides);
  }
  return whole;
}

// Position `at` of a tensor along an axis.
Tensor slice(const Tensor& whole, int64_t axis, int64_t at) {
  std::vector<int64_t> dims = whole.shape().vector();
  std::vector<int64_t> strides = whole.shape().strides();
  const int64_t size = dtype_size(whole.dtype());
  const auto* from =
      static_cast<const std::byte*>(whole.data()) + at * strides[static_cast<size_t>(axis)] * size;
  dims.erase(dims.begin() + axis);
  strides.erase(strides.begin() + axis);
  Tensor part(whole.dtype(), Shape(std::move(dims)));
  copy_strided(part.shape().dims(), size, from, strides, part.data(), part.shape().strides());
  return part;
}

// Rounds of loops inside loops count together: each alone may look harmless. Bodies run on the
// thread of what is around them.
struct Nesting {
  int depth = 0;
  int64_t rounds = 0;
};
Nesting& nesting() {
  thread_local Nesting of_thread;
  return of_thread;
}
class Nested {
 public:
  Nested() {
    if (nesting().depth++ == 0) nesting().rounds = 0;
  }
  ~Nested() { --nesting().depth; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
};

// What each round adds to the outputs of a loop.
class LoopOutputs {
 public:
  explicit LoopOutputs(size_t count) : rounds_(count) {}

  void add(size_t i, Tensor tensor) {
    bytes_ += tensor.num_bytes();
    TY_REQUIRE(bytes_ <= kMostBytes, "its rounds have gathered more than {} bytes", kMostBytes);
    rounds_[i].push_back(std::move(tensor));
  }
  const std::vector<Tensor>& operator[](size_t i) const { return rounds_[i]; }

 private:
  std::vector<std::vector<Tensor>> rounds_;
  int64_t bytes_ = 0;
};

}  // namespace

struct ControlFlow::Impl {
  Impl(const Graph& around, NodeId id, const CompileOptions& how) : node(around, id), options(how) {
    options.states.clear();
    options.observer = nullptr;
    const bool branches = node.op() == "If";
    // The condition, or what a round brings anew, comes before what is around.
    size_t next = branches ? 1 : 0;
    for (const char* name : {"then_branch", "else_branch", "body"}) {
      if (!node.has_attr(name)) continue;
      // A branch runs once; the values of a loop may grow from round to round.
      const int64_t most = branches ? PlanCache::kAnyBytes : kMostBytes;
      const Graph& body = *node.attr_graph(name);
      bodies.emplace_back(body, known_inputs(body, branches, next), options, most);
      next += body.inputs().size();
    }
  }

  // What is known before the run of what a body reads of the graph around it. Where shapes may
  // change from round to round, each is a plan of its own, and would have to pack weights again.
  std::vector<std::shared_ptr<const Tensor>> known_inputs(const Graph& body, bool branches,
                                                          size_t first) const {
    const size_t count = body.inputs().size();
    std::vector<std::shared_ptr<const Tensor>> known(count);
    const auto is_static = [&](ValueId id) { return body.value(id).type.shape.is_static(); };
    if (!branches && !std::all_of(body.inputs().begin(), body.inputs().end(), is_static)) {
      return known;
    }
    size_t own = 0;  // inputs that a round brings
    if (node.op() == "Loop") own = 2 + static_cast<size_t>(node.attr_int("carried", 0));
    if (node.op() == "Scan") {
      const ops::ScanShape scan = ops::scan_shape(node);
      own = scan.states + scan.input_axes.size();
    }
    for (size_t i = own; i < count; ++i) {
      const size_t at = first + i;
      if (!node.has_input(at)) continue;
      const Value& value = node.input_value(at);
      if (value.kind == ValueKind::kInitializer) known[i] = value.constant;
    }
    return known;
  }

  void count_round() const {
    TY_REQUIRE(++nesting().rounds <= options.max_iterations,
               "its loops have not ended after {} rounds together; `max_iterations` allows more",
               options.max_iterations);
  }

  std::vector<Tensor> run_if(Inputs inputs) {
    const size_t yes = node.attr_graph("then_branch")->inputs().size();
    const bool taken = only_number(*inputs[0], "condition") != 0;
    const std::string refusal = node.attr_text(taken ? ops::kThenRefusal : ops::kElseRefusal, "");
    TY_REQUIRE(refusal.empty(), "the branch that is taken does not fit: {}", refusal);
    return taken ? bodies[0].run_in_place(inputs.subspan(1, yes))
                 : bodies[1].run_in_place(inputs.subspan(1 + yes));
  }

  std::vector<Tensor> run_loop(Inputs inputs) {
    const auto carried = static_cast<size_t>(node.attr_int("carried", 0));
    const int64_t most = inputs[0] != nullptr ? only_number(*inputs[0], "number of rounds") : -1;
    bool goes_on = inputs[1] == nullptr || only_number(*inputs[1], "condition") != 0;
    const Graph& body = *node.attr_graph("body");
    std::vector<Tensor> values;
    for (size_t i = 0; i < carried; ++i) values.push_back(inputs[2 + i]->clone());
    LoopOutputs gathered(body.outputs().size() - 1 - carried);
    for (int64_t round = 0; goes_on && (inputs[0] == nullptr || round < most); ++round) {
      count_round();
      const Tensor counter = Tensor::scalar<int64_t>(round);
      const Tensor condition = Tensor::scalar<bool>(true);
      std::vector<const Tensor*> given = {&counter, &condition};
      for (const Tensor& value : values) given.push_back(&value);
      given.insert(given.end(), inputs.begin() + 2 + static_cast<ptrdiff_t>(carried), inputs.end());
      std::vector<Tensor> made = bodies[0].run(given);
      goes_on = only_number(made[0], "condition") != 0;
      for (size_t i = 0; i < carried; ++i) {
        TY_REQUIRE(made[1 + i].num_bytes() <= kMostBytes, "a carried value grew beyond {} bytes",
                   kMostBytes);
        values[i] = std::move(made[1 + i]);
      }
      for (size_t i = 1 + carried; i < made.size(); ++i) {
        gathered.add(i - 1 - carried, std::move(made[i]));
      }
    }
    for (size_t i = 1 + carried; i < body.outputs().size(); ++i) {
      values.push_back(
          stack(gathered[i - 1 - carried], body.value(body.outputs()[i]).type, 0, false));
    }
    return values;
  }

  // `lengths` of the shapes that came may differ from those that inference saw.
  std::vector<Tensor> run_scan(Inputs inputs) {
    const ops::ScanShape scan = ops::scan_shape(node);
    const size_t scanned = scan.input_axes.size();
    const Graph& body = *node.attr_graph("body");
    const int64_t length = inputs[scan.states]->shape()[scan.input_axes[0]];
    for (size_t i = 0; i < scanned; ++i) {
      const int64_t other = inputs[scan.states + i]->shape()[scan.input_axes[i]];
      TY_REQUIRE(other == length, "scanned inputs are {} and {} long", length, other);
    }
    std::vector<Tensor> states;
    for (size_t i = 0; i < scan.states; ++i) states.push_back(inputs[i]->clone());
    LoopOutputs gathered(body.outputs().size() - scan.states);
    for (int64_t round = 0; round < length; ++round) {
      count_round();
      std::vector<Tensor> slices;
      for (size_t i = 0; i < scanned; ++i) {
        const int64_t at = scan.input_directions[i] != 0 ? length - 1 - round : round;
        slices.push_back(slice(*inputs[scan.states + i], scan.input_axes[i], at));
      }
      std::vector<const Tensor*> given = pointers(states);
      for (const Tensor& part : slices) given.push_back(&part);
      given.insert(given.end(), inputs.begin() + static_cast<ptrdiff_t>(scan.states + scanned),
                   inputs.end());
      std::vector<Tensor> made = bodies[0].run(given);
      for (size_t i = 0; i < made.size(); ++i) {
        if (i < scan.states) {
          states[i] = std::move(made[i]);
        } else {
          gathered.add(i - scan.states, std::move(made[i]));
        }
      }
    }
    for (size_t i = scan.states; i < body.outputs().size(); ++i) {
      const size_t k = i - scan.states;
      states.push_back(stack(gathered[k], body.value(body.outputs()[i]).type, scan.output_axes[k],
                             scan.output_directions[k] != 0));
    }
    return states;
  }

  NodeView node;
  CompileOptions options;
  std::vector<Body> bodies;
};

ControlFlow::ControlFlow(const Graph& graph, NodeId node, const CompileOptions& options)
    : impl_(std::make_unique<Impl>(graph, node, options)) {}

ControlFlow::~ControlFlow() = default;

std::vector<Tensor> ControlFlow::run(Inputs inputs) {
  const std::string& op = impl_->node.op();
  const Nested nested;
  try {
    if (op == "If") return impl_->run_if(inputs);
    return op == "Loop" ? impl_->run_loop(inputs) : impl_->run_scan(inputs);
  } catch (const Error& problem) {
    throw_error("node '{}' ({}): {}", impl_->node.name(), op, problem.what());
  }
}

}  // namespace trainyard::runtime
