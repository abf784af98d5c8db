#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "engine/kernels/kernel_table.h"
#include "engine/plan.h"
#include "ops/control_flow.h"
#include "ops/inference.h"
#include "ops/op_def.h"

namespace trainyard::runtime {
namespace {

using kernels::KernelDef;
using kernels::NodeLayouts;

// Its output is its first input's memory. The mask of a Dropout would have to be made.
bool is_mere_view(const NodeView& node) {
  return ops::is_view(node) && !node.has_output(1);
}

bool has_static_shapes(const NodeView& node) {
  const auto is_static = [&](ValueId id) {
    return !id.valid() || node.graph().value(id).type.shape.is_static();
  };
  return std::all_of(node.node().inputs.begin(), node.node().inputs.end(), is_static) &&
         std::all_of(node.node().outputs.begin(), node.node().outputs.end(), is_static);
}

// Can every input be written as a part of the output? So it is along the channels of a blocked
// layout, if each part begins at a block.
bool concat_of_parts(const NodeView& node, std::span<const Layout> inputs) {
  if (node.op() != "Concat") return false;
  const Shape& y = node.output_shape(0);
  if (y.rank() < 3 || y.num_elements() == 0) return false;
  if (normalize_axis(node.attr_int("axis", 0), y.rank(), node.op()) != 1) return false;
  const int64_t block = inputs[0].block_of(1);
  if (block == 1) return false;
  int64_t channel = 0;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (channel % block != 0) return false;
    channel += node.input_shape(i)[1];
    if (!same_placement(inputs[i], Layout::channel_blocks(node.input_shape(i), block),
                        node.input_shape(i))) {
      return false;
    }
  }
  return true;
}

bool starts_exchange(const Graph& graph, NodeId id) {
  return graph.node(id).op == "AllReduceStart";
}

uint8_t phase_in(std::span<const uint8_t> phases, NodeId id) {
  const auto index = static_cast<size_t>(id.index);
  return index < phases.size() ? phases[index] : uint8_t{0};
}

// The order of the graph, but an exchange with other workers starts as soon as what it sends is
// there and its phase has begun.
std::vector<NodeId> run_order(const Graph& graph, std::span<const uint8_t> phases) {
  const std::vector<NodeId> ids = graph.node_ids();
  const auto phase = [&](NodeId id) { return phase_in(phases, id); };
  std::map<NodeId, size_t> position;
  std::vector<std::vector<NodeId>> starts(ids.size());  // after the node at this position
  for (size_t i = 0; i < ids.size(); ++i) {
    position[ids[i]] = i;
    if (!starts_exchange(graph, ids[i])) continue;
    size_t last = 0;
    for (const ValueId input : graph.node(ids[i]).inputs) {
      const NodeId producer = graph.value(input).producer;
      if (producer.valid()) last = std::max(last, position.at(producer));
    }
    while (last + 1 < i && phase(ids[last + 1]) < phase(ids[i])) ++last;
    starts[last].push_back(ids[i]);
  }
  std::vector<NodeId> order;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!starts_exchange(graph, ids[i])) order.push_back(ids[i]);
    order.insert(order.end(), starts[i].begin(), starts[i].end());
  }
  return order;
}

class Chooser {
 public:
  Chooser(Graph graph, std::vector<StateUpdate> states, const ChoiceOptions& options)
      : options_(options) {
    plan_.graph = std::move(graph);
    plan_.states = std::move(states);
    grow();
    for (const StateUpdate& state : plan_.states) {
      if (has_device()) {
        plan_.layout(state.from) = Layout::on_device();
      } else {
        undecided_.insert(state.from);
      }
    }
  }

  Plan run() {
    for (const NodeId id : run_order(plan_.graph, options_.phases)) choose(id);
    const std::vector<ValueId> outputs(plan_.graph.outputs().begin(), plan_.graph.outputs().end());
    for (const ValueId id : outputs) make_output_row_major(id);
    for (StateUpdate& state : plan_.states) keep_layout(state);
    return std::move(plan_);
  }

 private:
  bool has_device() const { return options_.device != device::Backend::kHost; }

  void grow() { plan_.layouts.resize(plan_.graph.value_limit()); }

  std::vector<Layout> offered(const NodeView& node) const {
    std::vector<Layout> layouts;
    for (const ValueId id : node.node().inputs) {
      layouts.push_back(id.valid() ? plan_.layout(id) : Layout());
    }
    return layouts;
  }

  void choose(NodeId id) {
    const NodeView node(plan_.graph, id);
    const std::vector<Layout> inputs = offered(node);
    PlannedStep step;
    step.node = id;
    step.layouts.inputs.resize(node.num_inputs());
    step.layouts.outputs.resize(node.num_outputs());
    if (!has_static_shapes(node) || ops::is_control_flow(node.op())) {
      step.kind = StepKind::kLate;
    } else if (is_mere_view(node)) {
      step.kind = StepKind::kView;
      if (inputs[0].is_on_device()) {
        step.layouts.inputs[0] = inputs[0];
        step.layouts.outputs[0] = inputs[0];
      }
    } else if (node.op() == "AllReduceStart" || node.op() == "AllReduceWait") {
      step.kind = node.op() == "AllReduceStart" ? StepKind::kStart : StepKind::kWait;
      step.layouts.inputs = inputs;
      // What is sent goes through the memory of the host.
      std::replace_if(
          step.layouts.inputs.begin(), step.layouts.inputs.end(),
          [](const Layout& layout) { return layout.is_on_device(); }, Layout());
      step.layouts.outputs = step.layouts.inputs;
    } else if (concat_of_parts(node, inputs)) {
      step.kind = StepKind::kView;
      step.layouts.inputs = inputs;
      step.layouts.outputs[0] = Layout::channel_blocks(node.output_shape(0), inputs[0].block_of(1));
    } else {
      choose_kernel(node, inputs, step);
    }
    give_inputs(step);
    for (size_t i = 0; i < step.layouts.outputs.size(); ++i) {
      const ValueId output = plan_.graph.node(id).outputs[i];
      if (output.valid()) plan_.layout(output) = step.layouts.outputs[i];
    }
    plan_.steps.push_back(std::move(step));
  }

  // What is known before the run is given to the kernel as it lies; all else is on the device.
  bool choose_on_device(const NodeView& node, PlannedStep& step) {
    for (const KernelDef* def : kernels::device_kernels_of(node.op(), options_.device)) {
      const std::string_view reason = def->refuses(node);
      if (!reason.empty()) {
        step.refusals.push_back({std::string(def->library), std::string(reason)});
        continue;
      }
      for (size_t i = 0; i < node.num_inputs(); ++i) {
        const bool moves = node.has_input(i) && node.input_constant(i) == nullptr;
        if (moves) step.layouts.inputs[i] = Layout::on_device();
      }
      std::fill(step.layouts.outputs.begin(), step.layouts.outputs.end(), Layout::on_device());
      step.def = def;
      return true;
    }
    if (step.refusals.empty()) {
      const bool is_torch = options_.device == device::Backend::kTorch;
      step.refusals.push_back({is_torch ? "torch" : "device", "it has no such kernel"});
    }
    return false;
  }

  void choose_kernel(const NodeView& node, std::vector<Layout> inputs, PlannedStep& step) {
    if (has_device() && choose_on_device(node, step)) return;
    // What lies on the device comes here row by row.
    for (Layout& layout : inputs) {
      if (layout.is_on_device()) layout = Layout();
    }
    for (const KernelDef* def : kernels::kernels_of(node.op())) {
      if (options_.reference_only && def->library != "reference") continue;
      if (def->make_outputs != nullptr) continue;  // only for nodes whose results have no size yet
      const std::string_view reason = def->refuses != nullptr ? def->refuses(node) : "";
      if (!reason.empty()) {
        step.refusals.push_back({std::string(def->library), std::string(reason)});
        continue;
      }
      if (def->layouts != nullptr) {
        std::optional<NodeLayouts> layouts = def->layouts(node, inputs);
        if (!layouts) {
          step.refusals.push_back(
              {std::string(def->library), "the library has no fast implementation"});
          continue;
        }
        step.layouts = std::move(*layouts);
      }
      step.def = def;
      return;
    }
    throw_error("node '{}' ({}): no kernel computes it", node.name(), node.op());
  }

  // Reorders inputs that lie otherwise than the step wants them.
  void give_inputs(PlannedStep& step) {
    for (size_t i = 0; i < step.layouts.inputs.size(); ++i) {
      const ValueId input = plan_.graph.node(step.node).inputs[i];
      if (!input.valid()) continue;
      const Shape& shape = plan_.graph.value(input).type.shape;
      if (undecided_.erase(input) > 0) plan_.layout(input) = step.layouts.inputs[i];
      if (!shape.is_static() ||
          same_placement(plan_.layout(input), step.layouts.inputs[i], shape)) {
        continue;
      }
      plan_.graph.set_node_input(step.node, i, reordered(input, step.layouts.inputs[i]));
    }
  }

  ValueId reordered(ValueId from, const Layout& layout) {
    for (const ValueId to : reorders_[from]) {
      const Shape& shape = plan_.graph.value(from).type.shape;
      if (same_placement(plan_.layout(to), layout, shape)) return to;
    }
    PlannedStep step = make_reorder(plan_, from, layout);
    const ValueId to = plan_.graph.node(step.node).outputs[0];
    reorders_[from].push_back(to);
    plan_.steps.push_back(std::move(step));
    return to;
  }

  // By the end of the phase that makes it: who runs that phase alone reads the result, too.
  ValueId reordered_in_phase(ValueId from, const Layout& layout) {
    const size_t before = plan_.steps.size();
    const NodeId producer = plan_.graph.value(from).producer;
    const ValueId to = reordered(from, layout);
    if (plan_.steps.size() == before || !producer.valid()) return to;
    const auto added = plan_.steps.end() - 1;
    const auto made = std::find_if(plan_.steps.begin(), added,
                                   [&](const PlannedStep& step) { return step.node == producer; });
    const auto later = std::find_if(made, added, [&](const PlannedStep& step) {
      return phase_in(options_.phases, step.node) > phase_in(options_.phases, producer);
    });
    std::rotate(later, added, plan_.steps.end());
    return to;
  }

  void make_output_row_major(ValueId id) {
    const Shape& shape = plan_.graph.value(id).type.shape;
    if (!shape.is_static() || same_placement(plan_.layout(id), Layout(), shape)) return;
    const ValueId plain = reordered_in_phase(id, Layout());
    std::vector<ValueId> outputs(plan_.graph.outputs().begin(), plan_.graph.outputs().end());
    std::replace(outputs.begin(), outputs.end(), id, plain);
    plan_.graph.set_outputs(std::move(outputs));
  }

  void keep_layout(StateUpdate& state) {
    if (!state.to.valid()) return;
    const Shape& shape = plan_.graph.value(state.from).type.shape;
    if (same_placement(plan_.layout(state.from), plan_.layout(state.to), shape)) return;
    state.to = reordered_in_phase(state.to, Layout(plan_.layout(state.from)));
  }

  Plan plan_;
  ChoiceOptions options_;
  std::set<ValueId> undecided_;                       // states nobody has read yet
  std::map<ValueId, std::vector<ValueId>> reorders_;  // of a value
};

}  // namespace

PlannedStep make_reorder(Plan& plan, ValueId from, const Layout& layout) {
  Graph& graph = plan.graph;
  const TensorType type = graph.value(from).type;
  const std::string name = graph.unique_name(graph.value(from).name + ".reordered");
  const NodeId node = graph.add_node(name, "Reorder", {from}, {}, {&name, 1}, {&type, 1});
  const ValueId to = graph.node(node).outputs[0];
  plan.layouts.resize(graph.value_limit());
  plan.layout(to) = layout;
  PlannedStep step;
  step.node = node;
  step.layouts.inputs = {plan.layout(from)};
  step.layouts.outputs = {layout};
  step.layouts.takes_parts = true;
  const bool moves = layout.is_on_device() || plan.layout(from).is_on_device();
  for (const KernelDef* def : moves ? kernels::device_kernels_of("Reorder", device::Backend::kTorch)
                                    : kernels::kernels_of("Reorder")) {
    const std::string_view reason =
        def->refuses != nullptr ? def->refuses({graph, node}) : std::string_view();
    if (!reason.empty()) continue;
    step.def = def;
    break;
  }
  TY_CHECK(step.def != nullptr, "nothing reorders {}", name);
  return step;
}

Plan choose_kernels(Graph graph, std::vector<StateUpdate> states, const ChoiceOptions& options) {
  return Chooser(std::move(graph), std::move(states), options).run();
}

}  // namespace trainyard::runtime
