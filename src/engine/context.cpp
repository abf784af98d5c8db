#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>

#include "base/error.h"
#include "engine/arena.h"
#include "engine/control_flow.h"
#include "engine/device/device.h"
#include "engine/dynamic_node.h"
#include "engine/executable.h"
#include "engine/kernels/api/exchange_kernel.h"
#include "engine/kernels/parallel/exchange.h"
#include "engine/kernels/parallel/parallel.h"
#include "engine/profile.h"
#include "engine/program.h"
#include "ops/control_flow.h"
#include "tensor/layout_copy.h"

namespace trainyard::runtime {
namespace {

using kernels::BoundKernel;
using kernels::KernelArgs;

// A kernel without anything to prepare, with its arguments kept.
class PlainBoundKernel final : public BoundKernel {
 public:
  // `exchange` is the context's, which may change it between runs.
  PlainBoundKernel(const kernels::Kernel& kernel, std::vector<TensorView> inputs,
                   std::vector<TensorView> outputs, std::span<std::byte> scratch,
                   kernels::Exchange* const& exchange)
      : kernel_(kernel),
        shared_(dynamic_cast<const kernels::ExchangeKernel*>(&kernel)),
        inputs_(std::move(inputs)),
        outputs_(std::move(outputs)),
        scratch_(scratch),
        exchange_(exchange) {}

  void run() override {
    const KernelArgs args{inputs_, outputs_, scratch_};
    if (shared_ == nullptr) {
      kernel_.run(args);
    } else {
      shared_->run_shared({args, exchange_});
    }
  }

 private:
  const kernels::Kernel& kernel_;
  const kernels::ExchangeKernel* shared_;  // the same, if it needs the other workers
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
  std::span<std::byte> scratch_;
  kernels::Exchange* const& exchange_;
};

// Step `index` of a context, for its observer.
template <typename Context>
class RunningStep final : public StepView {
 public:
  RunningStep(Context& context, size_t index)
      : context_(context),
        index_(index),
        node_(context.program().graph.node(context.program().steps[index].node)) {}

  size_t index() const override { return index_; }
  const StepInfo& info() const override { return context_.program().infos[index_]; }
  size_t num_outputs() const override { return node_.outputs.size(); }
  const std::string& output_name(size_t i) const override {
    static const std::string kNone;
    const ValueId id = node_.outputs.at(i);
    return id.valid() ? context_.program().graph.value(id).name : kNone;
  }
  const Shape& output_shape(size_t i) const override {
    return context_.program().graph.value(node_.outputs.at(i)).type.shape;
  }
  Tensor output(size_t i) const override {
    const ValueId id = node_.outputs.at(i);
    return id.valid() ? context_.read(id) : Tensor();
  }
  std::span<const std::byte> elements(size_t i) const override {
    const ValueId id = node_.outputs.at(i);
    return id.valid() ? context_.elements(id) : std::span<const std::byte>();
  }

 private:
  Context& context_;
  size_t index_;
  const Node& node_;
};

}  // namespace

struct ExecutionContext::Impl {
  // The bytes of a state in its own layout, in the memory of the host or of the device.
  struct State {
    Tensor here;
    std::unique_ptr<device::Buffer> there;

    std::byte* data() const {
      return there != nullptr ? there->address()
                              : static_cast<std::byte*>(const_cast<void*>(here.data()));
    }
  };

  Impl(Executable compiled, kernels::Exchange* others, const Tensor* given_arena)
      : executable(std::move(compiled)), exchange(others), kernel_exchange(others) {
    const Program& program = executable.program();
    TY_CHECK(exchange != nullptr || program.buckets.empty(), "no way to {} buckets",
             program.buckets.size());
    if (program.window_bytes > 0) window = exchange->allocate(program.window_bytes);
    // The thread that runs may not be the one that compiled.
    if (given_arena != nullptr) {
      TY_CHECK(given_arena->num_bytes() >= program.arena_bytes, "an arena of {} bytes, not {}",
               given_arena->num_bytes(), program.arena_bytes);
      arena = given_arena->reshaped(given_arena->shape());
    } else {
      arena = make_arena(program.arena_bytes);
    }
    if (program.device != nullptr) {
      device_arena = program.device->allocate(static_cast<size_t>(program.arena_bytes),
                                              device::Sharing::kNone);
    }
    for (const Port& port : program.inputs) own_inputs.push_back(Tensor::zeros(port.type));
    for (const Tensor& own : own_inputs) inputs.push_back(own.reshaped(own.shape()));
    for (size_t i = 0; i < program.states.size(); ++i) states.push_back(make_state(i));
    late.resize(program.graph.value_limit());
    for (const ProgramStep& step : program.steps) bound.push_back(bind(step));
    for (size_t i = 0; i < inputs.size(); ++i) readers.push_back(find_readers(i));
    for (size_t i = 0; i < program.graph.outputs().size(); ++i) {
      outputs.push_back(output_view(program.graph.outputs()[i], program.outputs[i].type));
    }
  }

  const Program& program() const { return executable.program(); }

  const Placement& place(ValueId id) const {
    return program().places[static_cast<size_t>(id.index)];
  }

  const Layout& state_layout(size_t i) const {
    return program().layouts[static_cast<size_t>(program().state_values[i].index)];
  }

  std::byte* state_data(ValueId id) {
    const std::vector<ValueId>& ids = program().state_values;
    const auto found = std::find(ids.begin(), ids.end(), id);
    TY_CHECK(found != ids.end(), "'{}' has no data", program().graph.value(id).name);
    return states[static_cast<size_t>(found - ids.begin())].data();
  }

  // Zeros, where its layout says.
  State make_state(size_t i) const {
    const int64_t bytes = state_layout(i).span_bytes(program().states[i].type);
    State state;
    state.here = Tensor::zeros({DType::kU8, Shape{bytes}});
    if (!state_layout(i).is_on_device()) return state;
    state.there = program().device->allocate(static_cast<size_t>(bytes), device::Sharing::kNone);
    program().device->write(state.data(), state.here.data(), static_cast<size_t>(bytes));
    state.here = Tensor();
    return state;
  }

  // Null for what only a run brings.
  void* address(ValueId id) {
    const Placement& at = place(id);
    const Graph& graph = program().graph;
    const Value& root = graph.value(at.root);
    std::byte* base = nullptr;
    if (root.kind == ValueKind::kInput) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (graph.inputs()[i] == at.root) base = static_cast<std::byte*>(inputs[i].data());
      }
    } else if (root.kind == ValueKind::kInitializer && root.constant == nullptr) {
      base = state_data(at.root);
    } else if (root.kind == ValueKind::kInitializer) {
      base = const_cast<std::byte*>(static_cast<const std::byte*>(root.constant->data()));
    } else if (const int64_t sent = program().window_offsets[static_cast<size_t>(at.root.index)];
               sent >= 0) {
      base = window.data() + sent;
    } else if (const int64_t offset = program().arena_offsets[static_cast<size_t>(at.root.index)];
               offset >= 0) {
      const bool there = program().layouts[static_cast<size_t>(at.root.index)].is_on_device();
      base = (there ? device_arena->address() : static_cast<std::byte*>(arena.data())) + offset;
    }
    return base == nullptr ? nullptr : base + at.offset;
  }

  TensorView view(ValueId id) {
    if (!id.valid()) return {};
    const TensorType& type = program().graph.value(id).type;
    return {type.dtype, &type.shape, address(id)};
  }

  std::unique_ptr<BoundKernel> bind(const ProgramStep& step) {
    if (step.kind != StepKind::kKernel) return nullptr;
    const Node& node = program().graph.node(step.node);
    std::vector<TensorView> in;
    std::vector<TensorView> out;
    for (const ValueId id : node.inputs) in.push_back(view(id));
    for (const ValueId id : node.outputs) out.push_back(view(id));
    const std::span<std::byte> scratch(static_cast<std::byte*>(arena.data()) + step.scratch_offset,
                                       static_cast<size_t>(step.kernel->scratch_bytes()));
    auto prepared = step.kernel->bind({in, out, scratch});
    if (prepared != nullptr) return prepared;
    return std::make_unique<PlainBoundKernel>(*step.kernel, std::move(in), std::move(out), scratch,
                                              kernel_exchange);
  }

  void require_input_type(size_t index, const Tensor& value) const {
    const Port& port = program().inputs.at(index);
    TY_REQUIRE(value.type() == port.type, "input '{}' is {}, expected {}", port.name,
               value.type().to_string(), port.type.to_string());
  }

  bool reads(const ProgramStep& step, ValueId root) const {
    const std::vector<ValueId>& ids = program().graph.node(step.node).inputs;
    return std::any_of(ids.begin(), ids.end(),
                       [&](ValueId id) { return id.valid() && place(id).root == root; });
  }

  // What reads an input, found once.
  struct Readers {
    std::vector<size_t> steps;
    bool own_memory_only = false;
    bool any_address = true;  // all of them take it: kernels::takes_any_address
  };

  Readers find_readers(size_t index) const {
    const ValueId root = program().graph.inputs()[index];
    Readers found;
    for (size_t i = 0; i < bound.size(); ++i) {
      if (bound[i] == nullptr || !reads(program().steps[i], root)) continue;
      found.steps.push_back(i);
      found.any_address &= program().steps[i].any_address;
    }
    const std::span<const ValueId> results = program().graph.outputs();
    // A result that is a view of the input would be valid only as long as what was lent.
    found.own_memory_only = program().device != nullptr ||
                            std::any_of(results.begin(), results.end(),
                                        [&](ValueId id) { return place(id).root == root; });
    return found;
  }

  bool can_lend(size_t index, const void* data) const {
    if (readers[index].own_memory_only) return false;
    const auto address = reinterpret_cast<uintptr_t>(data);
    const int64_t element = dtype_size(program().inputs[index].type.dtype);
    const int64_t unit = readers[index].any_address ? element : int64_t{Tensor::kAlignment};
    return address % static_cast<uintptr_t>(unit) == 0;
  }

  void place_input(size_t index, const Tensor& memory) {
    if (inputs.at(index).data() == memory.data()) return;
    inputs[index] = memory.reshaped(memory.shape());
    for (const size_t i : readers[index].steps) bound[i] = bind(program().steps[i]);
  }

  // Shares the memory of the value; a late one is filled in after each run.
  Tensor output_view(ValueId id, const TensorType& type) {
    void* data = address(id);
    if (data == nullptr) return {};
    return {type, std::shared_ptr<void>(), data};
  }

  void run_late(const ProgramStep& step) {
    const Graph& graph = program().graph;
    const Node& node = graph.node(step.node);
    std::vector<Tensor> views(node.inputs.size());
    std::vector<const Tensor*> in(node.inputs.size(), nullptr);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      const Tensor& made = late[static_cast<size_t>(node.inputs[i].index)];
      if (made.empty()) {
        views[i] = output_view(node.inputs[i], graph.value(node.inputs[i]).type);
      }
      in[i] = made.empty() ? &views[i] : &made;
    }
    std::vector<Tensor> out;
    if (ops::is_control_flow(node.op)) {
      std::unique_ptr<ControlFlow>& flow = control[step.node];
      if (flow == nullptr) {
        flow = std::make_unique<ControlFlow>(graph, step.node, program().options);
      }
      out = flow->run(in);
      out.resize(node.outputs.size());
    } else {
      out = run_dynamic_node(graph, step.node, in, program().options.reference_only);
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const ValueId id = node.outputs[i];
      if (!id.valid()) continue;
      require_planned(graph.value(id), out[i].type());
      // What was handed on lies in memory that others may get after this step.
      const bool handed = std::any_of(in.begin(), in.end(), [&](const Tensor* tensor) {
        return tensor != nullptr && tensor->data() == out[i].data();
      });
      if (void* fixed = address(id)) {
        std::memcpy(fixed, out[i].data(), static_cast<size_t>(out[i].num_bytes()));
      } else {
        late[static_cast<size_t>(id.index)] = handed ? out[i].clone() : std::move(out[i]);
      }
    }
  }

  std::span<float> bucket_values(const Bucket& bucket) {
    const int64_t offset = program().window_offsets[static_cast<size_t>(bucket.root.index)];
    return {reinterpret_cast<float*>(window.data() + offset),
            static_cast<size_t>(bucket.bytes) / sizeof(float)};
  }

  void run_step(size_t i) {
    const ProgramStep& step = program().steps[i];
    if (bound[i] != nullptr) {
      bound[i]->run();
    } else if (step.kind == StepKind::kLate) {
      run_late(step);
    } else if (step.kind == StepKind::kStart) {
      exchange->start(static_cast<int64_t>(step.bucket),
                      bucket_values(program().buckets[step.bucket]));
    } else if (step.kind == StepKind::kWait) {
      exchange->wait(static_cast<int64_t>(step.bucket));
    }
  }

  // A row-major copy of what a step has just made.
  Tensor read(ValueId id) {
    const Tensor& made = late[static_cast<size_t>(id.index)];
    if (!made.empty()) return made.clone();
    const TensorType& type = program().graph.value(id).type;
    const void* data = address(id);
    if (data == nullptr) return {};
    Tensor copy(type);
    if (program().layouts[static_cast<size_t>(id.index)].is_on_device()) {
      program().device->read(copy.data(), data, static_cast<size_t>(copy.num_bytes()));
      return copy;
    }
    copy_between_layouts(type, data, program().layouts[static_cast<size_t>(id.index)], copy.data(),
                         Layout());
    return copy;
  }

  // See StepView::elements().
  std::span<const std::byte> elements(ValueId id) {
    const auto index = static_cast<size_t>(id.index);
    const TensorType& type = program().graph.value(id).type;
    const void* data = address(id);
    if (!late[index].empty() || data == nullptr ||
        !program().layouts[index].is_sample_by_sample(type.shape)) {
      return {};
    }
    return {static_cast<const std::byte*>(data), static_cast<size_t>(type.num_bytes())};
  }

  Executable executable;
  kernels::Exchange* exchange;
  kernels::Exchange* kernel_exchange;  // what kernels are given: null while alone
  StepObserver observer;
  std::span<std::byte> window;  // the exchange's
  Tensor arena;
  // As large, with what lies on the device at the same places; null if there is none.
  std::unique_ptr<device::Buffer> device_arena;
  std::vector<Tensor> own_inputs;
  std::vector<Tensor> inputs;  // each our own, or what was lent
  std::vector<Readers> readers;
  std::vector<Tensor> outputs;
  std::vector<State> states;
  std::vector<Tensor> late;  // by value; what the present run made
  std::vector<std::unique_ptr<BoundKernel>> bound;
  std::map<NodeId, std::unique_ptr<ControlFlow>> control;  // made when first run
};

ExecutionContext::ExecutionContext(Executable executable, kernels::Exchange* exchange)
    : impl_(std::make_unique<Impl>(std::move(executable), exchange, nullptr)) {}

ExecutionContext::ExecutionContext(Executable executable, const Tensor& arena)
    : impl_(std::make_unique<Impl>(std::move(executable), nullptr, &arena)) {}

ExecutionContext::~ExecutionContext() = default;

Tensor& ExecutionContext::input(size_t index) {
  impl_->place_input(index, impl_->own_inputs.at(index));
  return impl_->inputs[index];
}

void ExecutionContext::set_input(size_t index, const Tensor& value) {
  impl_->require_input_type(index, value);
  std::memcpy(input(index).data(), value.data(), static_cast<size_t>(value.num_bytes()));
}

void ExecutionContext::lend_input(size_t index, const Tensor& value) {
  impl_->require_input_type(index, value);
  if (impl_->can_lend(index, value.data())) {
    impl_->place_input(index, value);
  } else {
    set_input(index, value);
  }
}

void ExecutionContext::set_state(size_t index, const Tensor& value) {
  const Port& port = impl_->program().states.at(index);
  TY_REQUIRE(value.type() == port.type, "state '{}' is {}, expected {}", port.name,
             value.type().to_string(), port.type.to_string());
  const Impl::State& state = impl_->states[index];
  if (state.there != nullptr) {
    impl_->program().device->write(state.data(), value.data(),
                                   static_cast<size_t>(value.num_bytes()));
  } else {
    copy_between_layouts(port.type, value.data(), Layout(), state.data(),
                         impl_->state_layout(index));
  }
}

Tensor ExecutionContext::state(size_t index) const {
  Tensor value(impl_->program().states.at(index).type);
  const Impl::State& state = impl_->states[index];
  if (state.there != nullptr) {
    impl_->program().device->read(value.data(), state.data(),
                                  static_cast<size_t>(value.num_bytes()));
  } else {
    copy_between_layouts(value.type(), state.data(), impl_->state_layout(index), value.data(),
                         Layout());
  }
  return value;
}

void ExecutionContext::run(Profile* profile) {
  run_steps(0, impl_->bound.size(), profile);
}

void ExecutionContext::run_steps(size_t begin_step, size_t end_step, Profile* profile) {
  Impl& impl = *impl_;
  int threads = 0;
  for (size_t i = begin_step; i < end_step; ++i) {
    const int wanted = impl.program().steps[i].threads;
    if (wanted != threads) kernels::set_threads(wanted);
    threads = wanted;
    if (profile == nullptr) {
      impl.run_step(i);
    } else {
      const auto begin = Profile::Clock::now();
      impl.run_step(i);
      // A device is only asked to work; who wants to know how long waits.
      if (impl.program().device != nullptr) impl.program().device->finish();
      profile->record(i, begin, Profile::Clock::now());
    }
    if (impl.observer) impl.observer(RunningStep<Impl>(impl, i));
  }
  kernels::set_threads(impl.program().threads);
  const std::span<const ValueId> ids = impl.program().graph.outputs();
  for (size_t i = 0; i < ids.size(); ++i) {
    const Tensor& made = impl.late[static_cast<size_t>(ids[i].index)];
    if (!made.empty()) impl.outputs[i] = made.reshaped(made.shape());
  }
}

void ExecutionContext::set_observer(StepObserver observer) {
  impl_->observer = std::move(observer);
}

void ExecutionContext::set_alone(bool alone) {
  impl_->kernel_exchange = alone ? nullptr : impl_->exchange;
}

const Tensor& ExecutionContext::output(size_t index) const {
  return impl_->outputs.at(index);
}

size_t ExecutionContext::num_outputs() const {
  return impl_->outputs.size();
}

std::vector<Tensor> run_once(ExecutionContext& context, std::span<const Tensor> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) context.set_input(i, inputs[i]);
  context.run();
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < context.num_outputs(); ++i) outputs.push_back(context.output(i).clone());
  return outputs;
}

const std::vector<Port>& Executable::inputs() const {
  return program_->inputs;
}

const std::vector<Port>& Executable::outputs() const {
  return program_->outputs;
}

const std::vector<StepInfo>& Executable::steps() const {
  return program_->infos;
}

const std::vector<Port>& Executable::states() const {
  return program_->states;
}

int64_t Executable::state_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < program_->states.size(); ++i) {
    const auto value = static_cast<size_t>(program_->state_values[i].index);
    bytes += program_->layouts[value].span_bytes(program_->states[i].type);
  }
  return bytes;
}

std::vector<Executable::Message> Executable::messages() const {
  std::vector<Message> messages(program_->buckets.size());
  for (const ProgramStep& step : program_->steps) {
    if (step.kind != StepKind::kStart) continue;
    Message& message = messages[step.bucket];
    message.bytes = program_->buckets[step.bucket].bytes;
    for (const ValueId id : program_->graph.node(step.node).outputs) {
      const TensorType& type = program_->graph.value(id).type;
      const Layout& layout = program_->layouts[static_cast<size_t>(id.index)];
      message.layouts += type.to_string() + " " + layout.to_string(type.shape) + ";";
    }
  }
  return messages;
}

int Executable::threads() const {
  return program_->threads;
}

int64_t Executable::arena_bytes() const {
  return program_->arena_bytes;
}

int64_t Executable::constant_bytes() const {
  int64_t bytes = 0;
  for (const ValueId id : program_->graph.initializers()) {
    const auto& constant = program_->graph.value(id).constant;
    if (constant != nullptr) bytes += constant->num_bytes();
  }
  return bytes;
}

}  // namespace trainyard::runtime
