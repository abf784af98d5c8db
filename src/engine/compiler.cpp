#include "engine/compiler.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/content_pool.h"
#include "base/error.h"
#include "base/file.h"
#include "engine/device/device.h"
#include "engine/dynamic_node.h"
#include "engine/kernels/kernel_table.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/gemm/packed_buffer.h"
#include "engine/kernels/parallel/parallel.h"
#include "engine/memory_plan.h"
#include "engine/program.h"
#include "ops/inference.h"
#include "ops/passes/pass.h"

namespace trainyard::runtime {
namespace {

// A slip of the caller would take all threads that a machine has.
constexpr int kMostThreads = 1024;

// Gives every initializer but the states its numbers.
void materialize(Graph& graph, uint64_t seed, const std::vector<StateUpdate>& states) {
  for (const StateUpdate& state : states) graph.mutable_value(state.from).constant.reset();
  for (const ValueId id : graph.initializers()) {
    Value& value = graph.mutable_value(id);
    const auto is_it = [&](const StateUpdate& state) { return state.from == id; };
    if (value.constant != nullptr || std::any_of(states.begin(), states.end(), is_it)) continue;
    Tensor data(value.type);
    fill_by_rule(value.rule, seed, value.name, data);
    value.constant = std::make_shared<const Tensor>(std::move(data));
  }
}

std::vector<Port> ports(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<Port> ports;
  for (const ValueId id : ids) ports.push_back({graph.value(id).name, graph.value(id).type});
  return ports;
}

void rewrite(Graph& graph, const CompileOptions& options) {
  if (options.observer) options.observer("imported", graph);
  passes::PassContext context;
  context.evaluate = evaluate_node;
  context.fast_bytes = kernels::native::cpu_has_avx2_fma();
  context.on_host = options.device == nullptr;
  const passes::PassList& list =
      options.passes != nullptr ? *options.passes : passes::inference_passes();
  for (const passes::Pass& pass : list.passes) {
    if (options.reference_only && pass.fuses) continue;
    if (pass.run(graph, context) && options.observer) options.observer(pass.name, graph);
  }
}

// While passes run, new values of states are outputs, so that edits do not lose sight of them.
class StatesAsOutputs {
 public:
  StatesAsOutputs(Graph& graph, std::vector<StateUpdate>& states)
      : graph_(graph), states_(states), own_outputs_(graph.outputs().size()) {
    std::vector<ValueId> all(graph.outputs().begin(), graph.outputs().end());
    for (const StateUpdate& state : states_) {
      if (state.to.valid()) all.push_back(state.to);
    }
    graph_.set_outputs(std::move(all));
  }
  void restore() {
    std::vector<ValueId> all(graph_.outputs().begin(), graph_.outputs().end());
    size_t next = own_outputs_;
    for (StateUpdate& state : states_) {
      if (state.to.valid()) state.to = all[next++];
    }
    all.resize(own_outputs_);
    graph_.set_outputs(std::move(all));
  }

 private:
  Graph& graph_;
  std::vector<StateUpdate>& states_;
  size_t own_outputs_;
};

// Frees the constants that only kernels with their own copy use.
void drop_packed_inputs(Graph& graph, NodeId id, const kernels::Kernel& kernel) {
  for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
    const ValueId input = graph.node(id).inputs[i];
    if (!input.valid() || !kernel.holds_input(i)) continue;
    graph.set_node_input(id, i, kNoValue);
    Value& value = graph.mutable_value(input);
    if (!value.consumers.empty() || graph.is_output(input) || value.constant == nullptr) continue;
    release_mapped_pages(value.constant->data(), static_cast<size_t>(value.constant->num_bytes()));
    value.constant.reset();
  }
}

// What no kernel has packed.
void share_tensors(Graph& graph) {
  static ContentPool pool;
  for (const ValueId id : graph.initializers()) {
    std::shared_ptr<const Tensor>& constant = graph.mutable_value(id).constant;
    if (constant == nullptr) continue;
    const auto shared =
        pool.share(constant, constant->data(), static_cast<size_t>(constant->num_bytes()));
    // Equal bytes under another type stay what they are.
    const auto known = std::static_pointer_cast<const Tensor>(shared.owner);
    if (known->type() == constant->type()) constant = known;
  }
}

StepInfo describe(const Plan& plan, const PlannedStep& step) {
  const NodeView node(plan.graph, step.node);
  StepInfo info;
  info.node = node.name();
  info.op = node.op();
  info.refusals = step.refusals;
  info.kind = ops::op_of(node).kind;
  if (step.kind == StepKind::kKernel) info.cost = ops::node_cost(node);
  if (step.kind == StepKind::kView) info.kernel = "view";
  if (step.kind == StepKind::kLate) info.kernel = "late";
  if (step.kind == StepKind::kStart || step.kind == StepKind::kWait) info.kernel = "exchange";
  if (node.has_output(0)) {
    info.output = node.output_type(0).to_string();
    const Layout& layout = plan.layout(node.output(0));
    if (!layout.is_row_major() || layout.is_on_device())
      info.output += " " + layout.to_string(node.output_shape(0));
  }
  return info;
}

ProgramStep create_step(Plan& plan, const PlannedStep& planned, device::Device* device) {
  ProgramStep step;
  step.node = planned.node;
  step.kind = planned.kind;
  const NodeView node(plan.graph, planned.node);
  if (planned.kind == StepKind::kStart || planned.kind == StepKind::kWait) {
    step.bucket = static_cast<size_t>(node.attr_int("bucket", 0));
  }
  if (planned.kind != StepKind::kKernel) return step;
  step.any_address = kernels::takes_any_address(*planned.def);
  if (planned.def->create_on != nullptr) {
    step.kernel = planned.def->create_on(node, planned.layouts, *device);
  } else if (planned.def->create_in != nullptr) {
    step.kernel = planned.def->create_in(node, planned.layouts);
  } else {
    step.kernel = planned.def->create(node);
  }
  drop_packed_inputs(plan.graph, planned.node, *step.kernel);
  return step;
}

void plan_window(Program& program) {
  program.window_offsets.assign(program.graph.value_limit(), -1);
  for (const Bucket& bucket : program.buckets) {
    program.window_offsets[static_cast<size_t>(bucket.root.index)] = program.window_bytes;
    program.window_bytes += bucket.bytes;
  }
}

// Lifetimes of the buffers (by root value) and of the kernels' scratch memory.
void plan_arena(Program& program) {
  const size_t count = program.graph.value_limit();
  const size_t end = program.steps.size();
  std::vector<BufferRequest> requests(count, {.bytes = -1, .first = end, .last = 0});
  const auto touch = [&](ValueId id, size_t when) {
    if (!id.valid()) return;
    const ValueId root = program.places[static_cast<size_t>(id.index)].root;
    const TensorType& type = program.graph.value(root).type;
    if (!program.graph.value(root).producer.valid() || !type.shape.is_static()) return;
    if (program.window_offsets[static_cast<size_t>(root.index)] >= 0) return;
    BufferRequest& request = requests[static_cast<size_t>(root.index)];
    request.bytes = program.layouts[static_cast<size_t>(root.index)].span_bytes(type);
    request.first = std::min(request.first, when);
    request.last = std::max(request.last, when);
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const Node& node = program.graph.node(program.steps[i].node);
    for (const ValueId id : node.inputs) touch(id, i);
    for (const ValueId id : node.outputs) touch(id, i);
  }
  for (const ValueId id : program.graph.outputs()) touch(id, end);

  std::vector<BufferRequest> used;
  std::vector<size_t> owner;
  for (size_t i = 0; i < count; ++i) {
    if (requests[i].bytes < 0) continue;
    used.push_back(requests[i]);
    owner.push_back(i);
  }
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const kernels::Kernel* kernel = program.steps[i].kernel.get();
    if (kernel == nullptr || kernel->scratch_bytes() == 0) continue;
    used.push_back({.bytes = kernel->scratch_bytes(), .first = i, .last = i});
    owner.push_back(count + i);
  }
  const MemoryPlan memory = plan_memory(used);
  program.arena_bytes = memory.total_bytes;
  program.arena_offsets.assign(count, -1);
  for (size_t i = 0; i < used.size(); ++i) {
    if (owner[i] < count) {
      program.arena_offsets[owner[i]] = memory.offsets[i];
    } else {
      program.steps[owner[i] - count].scratch_offset = memory.offsets[i];
    }
  }
}

// What the compiler added (reorders, copies) belongs to the phase that it stands in.
uint8_t phase_of(const std::vector<uint8_t>& phases, NodeId node, uint8_t present) {
  const auto index = static_cast<size_t>(node.index);
  if (index >= phases.size()) return present;
  TY_CHECK(phases[index] >= present, "a node of phase {} comes after one of phase {}",
           phases[index], present);
  return phases[index];
}

// Threads meet twice in a step, which takes some microseconds, and far longer when another process
// has the core of one of them. By estimates of the node alone, so that the same network is always
// cut the same way.
int threads_worth(const ops::Cost& cost, int available) {
  constexpr double kFlopsPerSecond = 30e9;
  constexpr double kBytesPerSecond = 10e9;
  constexpr double kMeetingSeconds = 5e-6;
  const double alone =
      std::max(static_cast<double>(cost.flops) / kFlopsPerSecond,
               static_cast<double>(cost.bytes_read + cost.bytes_written) / kBytesPerSecond);
  return alone * (1.0 - 1.0 / available) > kMeetingSeconds ? available : 1;
}

}  // namespace

Executable compile(Graph graph, const CompileOptions& options) {
  auto program = std::make_shared<Program>();
  TY_REQUIRE(options.threads >= 0 && options.threads <= kMostThreads,
             "threads is {}, expected 0 (all cores) to {}", options.threads, kMostThreads);
  program->threads = options.threads > 0 ? options.threads : kernels::available_cores();
  kernels::set_threads(program->threads);
  program->options = options;
  const kernels::PrecisionScope precision(options.precision);
  const device::Backend backend =
      options.device == nullptr ? device::Backend::kHost : options.device->info().backend;
  TY_REQUIRE(backend == device::Backend::kHost || !options.reference_only,
             "a device computes no reference results");
  if (options.precision == kernels::Precision::kBf16) {
    TY_REQUIRE(kernels::native::cpu_has_avx512_bf16(),
               "this processor has no products of bf16 (AVX512-BF16); leave `precision` at f32");
    TY_REQUIRE(backend == device::Backend::kHost && !options.reference_only,
               "devices and reference kernels compute in f32; leave `precision` at f32");
  }
  TY_REQUIRE(backend == device::Backend::kHost || backend == device::Backend::kTorch ||
                 options.states.empty(),
             "{} computes no training steps; the processors and devices of libtorch do",
             options.device->info().name);
  program->device = options.device;
  // Bodies of control flow run here.
  program->options.device = nullptr;
  program->options.states.clear();
  program->options.phases.clear();
  program->options.observer = nullptr;
  graph.sort();
  program->inputs = ports(graph, graph.inputs());
  program->outputs = ports(graph, graph.outputs());
  std::vector<StateUpdate> states = options.states;
  for (const StateUpdate& state : states) {
    program->state_values.push_back(state.from);
    program->states.push_back({graph.value(state.from).name, graph.value(state.from).type});
  }
  materialize(graph, options.seed, states);
  if (options.rewrite) {
    StatesAsOutputs outputs(graph, states);
    rewrite(graph, options);
    outputs.restore();
  }

  Plan plan = choose_kernels(
      std::move(graph), std::move(states),
      {.reference_only = options.reference_only, .device = backend, .phases = options.phases});
  share_buffers(plan);
  std::optional<kernels::native::SharedBuffers> sharing;
  if (options.share_constants) sharing.emplace(options.compact_constants);
  uint8_t phase = 0;
  for (const PlannedStep& planned : plan.steps) {
    StepInfo info = describe(plan, planned);
    info.phase = phase = phase_of(options.phases, planned.node, phase);
    const int threads = planned.kind == StepKind::kKernel
                            ? threads_worth(info.cost, program->threads)
                            : program->threads;
    kernels::set_threads(threads);
    program->steps.push_back(create_step(plan, planned, options.device.get()));
    program->steps.back().threads = threads;
    if (sharing) sharing->share();
    if (const kernels::Kernel* kernel = program->steps.back().kernel.get()) {
      info.precision = kernel->precision();
      info.kernel = planned.def->library;
      if (const std::string detail = kernel->detail(); !detail.empty()) info.kernel += " " + detail;
    }
    program->infos.push_back(std::move(info));
  }
  kernels::set_threads(program->threads);
  program->graph = std::move(plan.graph);
  if (options.share_constants) share_tensors(program->graph);
  program->layouts = std::move(plan.layouts);
  program->places = std::move(plan.places);
  program->buckets = std::move(plan.buckets);
  plan_window(*program);
  plan_arena(*program);
  return Executable(std::move(program));
}

}  // namespace trainyard::runtime
