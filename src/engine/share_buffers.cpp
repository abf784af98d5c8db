#include <algorithm>
#include <limits>
#include <map>

#include "base/error.h"
#include "engine/plan.h"
#include "ops/op_def.h"

namespace trainyard::runtime {
namespace {

constexpr size_t kForever = std::numeric_limits<size_t>::max();

class BufferSharing {
 public:
  explicit BufferSharing(Plan& plan) : plan_(plan) {}

  void run() {
    place_new_values();
    place_concat_parts();
    place_views();
    place_buckets();
    place_states();
    share_in_place();
  }

 private:
  bool is_concat(const PlannedStep& step) const {
    return step.kind == StepKind::kView && plan_.graph.node(step.node).op == "Concat";
  }

  void place_new_values() {
    for (size_t i = plan_.places.size(); i < plan_.graph.value_limit(); ++i) {
      plan_.places.push_back({.root = ValueId{static_cast<int32_t>(i)}});
    }
  }

  // Holds until steps are inserted.
  void number_steps() {
    step_of_.clear();
    for (size_t i = 0; i < plan_.steps.size(); ++i) step_of_[plan_.steps[i].node] = i;
  }

  // --- concatenations: the last first, so that parts of parts find their place

  void place_concat_parts() {
    number_steps();
    Copies copies;
    for (size_t i = plan_.steps.size(); i-- > 0;) {
      if (is_concat(plan_.steps[i])) place_parts(i, copies[i]);
    }
    insert(std::move(copies));
  }

  using Copies = std::map<size_t, std::vector<PlannedStep>>;  // before which step

  void insert(Copies copies) {
    std::vector<PlannedStep> steps;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      for (PlannedStep& copy : copies[i]) steps.push_back(std::move(copy));
      steps.push_back(std::move(plan_.steps[i]));
    }
    plan_.steps = std::move(steps);
  }

  void place_parts(size_t at, std::vector<PlannedStep>& copies) {
    const NodeId node = plan_.steps[at].node;
    const ValueId whole = plan_.graph.node(node).outputs[0];
    const Layout layout = plan_.layout(whole);
    const int64_t block = layout.block_of(1);
    const int64_t element = dtype_size(plan_.graph.value(whole).type.dtype);
    int64_t channel = 0;
    for (size_t i = 0; i < plan_.graph.node(node).inputs.size(); ++i) {
      ValueId part = plan_.graph.node(node).inputs[i];
      if (!can_be_part(part, layout)) {
        copies.push_back(make_reorder(plan_, part, layout));
        part = plan_.graph.node(copies.back().node).outputs[0];
        plan_.graph.set_node_input(node, i, part);
        place_new_values();
      } else if (!same_placement(layout, plan_.layout(part), plan_.graph.value(part).type.shape)) {
        set_layout(part, layout);
      }
      plan_.place(part) = {
          .root = plan_.place(whole).root,
          .offset = plan_.place(whole).offset + channel / block * layout.strides()[1] * element};
      is_part_.resize(plan_.graph.value_limit(), false);
      is_part_[static_cast<size_t>(part.index)] = true;
      channel += plan_.graph.value(part).type.shape[1];
    }
  }

  bool can_be_part(ValueId id, const Layout& layout) const {
    const Value& value = plan_.graph.value(id);
    if (!value.producer.valid() || plan_.graph.is_output(id)) return false;
    if (static_cast<size_t>(id.index) < is_part_.size() &&
        is_part_[static_cast<size_t>(id.index)]) {
      return false;
    }
    const PlannedStep& producer = plan_.steps[step_of_.at(value.producer)];
    if (producer.kind == StepKind::kLate || producer.layouts.in_place_required) return false;
    if (producer.kind == StepKind::kView && !is_concat(producer)) return false;
    if (same_placement(layout, plan_.layout(id), value.type.shape)) return true;
    const auto takes_parts = [&](NodeId user) {
      const PlannedStep& step = plan_.steps[step_of_.at(user)];
      return step.layouts.takes_parts || is_concat(step);
    };
    return takes_parts(value.producer) &&
           std::all_of(value.consumers.begin(), value.consumers.end(), takes_parts);
  }

  void set_layout(ValueId id, const Layout& layout) {
    plan_.layout(id) = layout;
    const Value& value = plan_.graph.value(id);
    PlannedStep& producer = plan_.steps[step_of_.at(value.producer)];
    const Node& made_by = plan_.graph.node(value.producer);
    for (size_t i = 0; i < made_by.outputs.size(); ++i) {
      if (made_by.outputs[i] == id) producer.layouts.outputs[i] = layout;
    }
    for (const NodeId user : value.consumers) {
      PlannedStep& step = plan_.steps[step_of_.at(user)];
      const Node& node = plan_.graph.node(user);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == id) step.layouts.inputs[i] = layout;
      }
    }
  }

  // --- views of one input

  void place_views() {
    for (const PlannedStep& step : plan_.steps) {
      if (step.kind != StepKind::kView || is_concat(step)) continue;
      const Node& node = plan_.graph.node(step.node);
      plan_.place(node.outputs[0]) = plan_.place(node.inputs[0]);
    }
  }

  // --- what is sent to other workers

  void place_buckets() {
    number_steps();
    Copies copies;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      if (plan_.steps[i].kind == StepKind::kStart) place_bucket(i, copies[i]);
    }
    for (const PlannedStep& step : plan_.steps) {
      if (step.kind != StepKind::kWait) continue;
      const Node& node = plan_.graph.node(step.node);
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        plan_.place(node.outputs[i]) = plan_.place(node.inputs[i]);
      }
    }
    insert(std::move(copies));
  }

  void place_bucket(size_t at, std::vector<PlannedStep>& copies) {
    const NodeId id = plan_.steps[at].node;
    Bucket bucket{.root = plan_.graph.node(id).outputs[0]};
    for (size_t i = 0; i < plan_.graph.node(id).inputs.size(); ++i) {
      ValueId part = plan_.graph.node(id).inputs[i];
      if (!can_be_sent(part)) {
        copies.push_back(make_reorder(plan_, part, Layout(plan_.layout(part))));
        part = plan_.graph.node(copies.back().node).outputs[0];
        plan_.graph.set_node_input(id, i, part);
        place_new_values();
      }
      const Placement place{.root = bucket.root, .offset = bucket.bytes};
      plan_.place(part) = place;
      plan_.place(plan_.graph.node(id).outputs[i]) = place;
      const int64_t bytes = plan_.layout(part).span_bytes(plan_.graph.value(part).type);
      bucket.bytes += (bytes + Tensor::kAlignment - 1) / Tensor::kAlignment * Tensor::kAlignment;
    }
    const auto number = static_cast<size_t>(NodeView(plan_.graph, id).attr_int("bucket", 0));
    if (plan_.buckets.size() <= number) plan_.buckets.resize(number + 1);
    plan_.buckets[number] = bucket;
  }

  // Made by a kernel that may write anywhere, and used by nobody else.
  bool can_be_sent(ValueId id) const {
    const Value& value = plan_.graph.value(id);
    if (!value.producer.valid() || plan_.place(id).root != id) return false;
    if (plan_.graph.is_output(id) || value.consumers.size() != 1) return false;
    const auto is_state = [&](const StateUpdate& state) { return state.to == id; };
    if (std::any_of(plan_.states.begin(), plan_.states.end(), is_state)) return false;
    const PlannedStep& made = plan_.steps[step_of_.at(value.producer)];
    return made.kind == StepKind::kKernel && !made.layouts.in_place_required;
  }

  // --- the new value of a state written over the old one

  void place_states() {
    number_steps();
    find_last_reads();
    std::vector<PlannedStep> copies;
    for (StateUpdate& state : plan_.states) {
      if (!state.to.valid()) continue;
      TY_REQUIRE(plan_.graph.value(plan_.place(state.to).root).producer.valid(),
                 "the new value of '{}' is not computed", plan_.graph.value(state.from).name);
      if (!can_replace(state)) {
        copies.push_back(make_reorder(plan_, state.to, Layout(plan_.layout(state.from))));
        state.to = plan_.graph.node(copies.back().node).outputs[0];
        place_new_values();
      }
      plan_.place(state.to) = {.root = state.from};
    }
    for (PlannedStep& copy : copies) plan_.steps.push_back(std::move(copy));
  }

  // The producer must be one that reads an element before it writes it, and the last to read the
  // old value.
  bool can_replace(const StateUpdate& state) const {
    const Value& to = plan_.graph.value(state.to);
    if (!to.producer.valid() || plan_.place(state.to).root != state.to) return false;
    if (plan_.graph.is_output(state.to)) return false;
    const Node& producer = plan_.graph.node(to.producer);
    const ops::OpKind kind = ops::op_of({plan_.graph, to.producer}).kind;
    const bool element_wise = kind == ops::OpKind::kOptimizer ||
                              kind == ops::OpKind::kElementwise ||
                              producer.op == "BatchNormTraining";
    if (!element_wise) return false;
    return last_read_[static_cast<size_t>(state.from.index)] <= step_of_.at(to.producer);
  }

  void find_last_reads() {
    last_read_.assign(plan_.graph.value_limit(), 0);
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      for (const ValueId id : plan_.graph.node(plan_.steps[i].node).inputs) {
        if (id.valid()) last_read_[static_cast<size_t>(plan_.place(id).root.index)] = i;
      }
    }
  }

  // --- results written over an input

  void share_in_place() {
    find_last_uses();
    find_members();
    std::vector<PlannedStep> steps;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      PlannedStep& step = plan_.steps[i];
      if (step.kind == StepKind::kKernel && step.layouts.in_place_input >= 0) {
        const auto position = static_cast<size_t>(step.layouts.in_place_input);
        const bool legal = can_overwrite(step, position, i);
        if (!legal && step.layouts.in_place_required) {
          const ValueId input = plan_.graph.node(step.node).inputs[position];
          steps.push_back(make_reorder(plan_, input, step.layouts.outputs[0]));
          place_new_values();
          plan_.graph.set_node_input(step.node, position,
                                     plan_.graph.node(steps.back().node).outputs[0]);
        }
        if (legal || step.layouts.in_place_required) overwrite(step, position);
      }
      steps.push_back(std::move(step));
    }
    plan_.steps = std::move(steps);
  }

  void find_last_uses() {
    last_use_.assign(plan_.graph.value_limit(), 0);
    const auto use = [&](ValueId id, size_t when) {
      if (!id.valid()) return;
      size_t& last = last_use_[static_cast<size_t>(plan_.place(id).root.index)];
      last = std::max(last, when);
    };
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const Node& node = plan_.graph.node(plan_.steps[i].node);
      for (const ValueId id : node.inputs) use(id, i);
      for (const ValueId id : node.outputs) use(id, i);
    }
    for (const ValueId id : plan_.graph.inputs()) use(id, kForever);
    for (const ValueId id : plan_.graph.initializers()) use(id, kForever);
    for (const ValueId id : plan_.graph.outputs()) use(id, kForever);
  }

  bool can_overwrite(const PlannedStep& step, size_t position, size_t now) const {
    const Node& node = plan_.graph.node(step.node);
    const ValueId from = node.inputs[position];
    const ValueId to = node.outputs[0];
    const ValueId root = plan_.place(from).root;
    if (!plan_.graph.value(root).producer.valid()) return false;
    if (plan_.place(to).root != to || plan_.place(from).offset != 0) return false;
    if (last_use_[static_cast<size_t>(root.index)] != now) return false;
    const TensorType& type = plan_.graph.value(to).type;
    const TensorType& root_type = plan_.graph.value(root).type;
    if (!root_type.shape.is_static() || !plan_.graph.value(from).type.shape.is_static()) {
      return false;
    }
    if (plan_.graph.value(from).type != type ||
        plan_.layout(root).span_bytes(root_type) != plan_.layout(to).span_bytes(type) ||
        !same_placement(plan_.layout(from), plan_.layout(to), type.shape)) {
      return false;
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i != position && node.inputs[i].valid() && plan_.place(node.inputs[i]).root == root) {
        return false;
      }
    }
    return true;
  }

  void overwrite(const PlannedStep& step, size_t position) {
    const Node& node = plan_.graph.node(step.node);
    const ValueId to = node.outputs[0];
    const ValueId root = plan_.place(node.inputs[position]).root;
    last_use_.resize(plan_.graph.value_limit(), 0);
    last_use_[static_cast<size_t>(root.index)] = last_use_[static_cast<size_t>(to.index)];
    members_.resize(plan_.graph.value_limit());
    std::vector<ValueId>& of_root = members_[static_cast<size_t>(root.index)];
    for (const ValueId member : members_[static_cast<size_t>(to.index)]) {
      plan_.place(member).root = root;
      of_root.push_back(member);
    }
    members_[static_cast<size_t>(to.index)].clear();
  }

  // The values that lie in a buffer, by its root. One that is made later lies in its own, and has
  // no views.
  void find_members() {
    members_.assign(plan_.graph.value_limit(), {});
    for (size_t i = 0; i < plan_.places.size(); ++i) {
      const ValueId root = plan_.places[i].root;
      members_[static_cast<size_t>(root.index)].push_back(ValueId{static_cast<int32_t>(i)});
    }
  }

  Plan& plan_;
  std::map<NodeId, size_t> step_of_;
  std::vector<bool> is_part_;
  std::vector<size_t> last_read_;  // of a buffer, by the step
  std::vector<size_t> last_use_;
  std::vector<std::vector<ValueId>> members_;
};

}  // namespace

void share_buffers(Plan& plan) {
  BufferSharing(plan).run();
}

}  // namespace trainyard::runtime
