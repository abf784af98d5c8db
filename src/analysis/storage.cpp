#include "analysis/storage.h"

#include <algorithm>

#include "ops/op_def.h"

namespace trainyard::analysis {
namespace {

int64_t known_bytes(const TensorType& type) {
  return type.shape.is_static() ? type.num_bytes() : 0;
}

class Planner {
 public:
  Planner(const Graph& graph, Reuse reuse) : graph_(graph), reuse_(reuse), ids_(graph.node_ids()) {
    storage_.buffer_of.assign(graph.value_limit(), -1);
    storage_.num_nodes = static_cast<int64_t>(ids_.size());
    last_use_.assign(graph.value_limit(), -1);
    for (size_t i = 0; i < ids_.size(); ++i) {
      for (const ValueId input : graph.node(ids_[i]).inputs) {
        if (input.valid()) last_use(input) = static_cast<int64_t>(i);
      }
    }
    for (const ValueId output : graph.outputs()) last_use(output) = storage_.num_nodes;
    if (reuse == Reuse::kTrainingHere) find_parts();
  }

  Storage plan() {
    for (const ValueId id : graph_.inputs()) add_buffer(id, -1);
    for (size_t i = 0; i < ids_.size(); ++i) place_outputs(static_cast<int64_t>(i));
    return std::move(storage_);
  }

 private:
  int64_t& last_use(ValueId id) { return last_use_[static_cast<size_t>(id.index)]; }
  int32_t& buffer_of(ValueId id) { return storage_.buffer_of[static_cast<size_t>(id.index)]; }

  ValueId& whole_of(ValueId id) { return whole_of_[static_cast<size_t>(id.index)]; }

  // The last concatenation first, so that parts of parts find their place.
  void find_parts() {
    whole_of_.assign(graph_.value_limit(), {});
    for (auto id = ids_.rbegin(); id != ids_.rend(); ++id) {
      const NodeView node(graph_, *id);
      if (!joins_channels(node)) continue;
      for (const ValueId part : node.node().inputs) {
        if (can_be_part(part)) whole_of(part) = node.output(0);
      }
    }
  }

  // Is it computed where it is wanted, and wanted in one place?
  bool can_be_part(ValueId id) {
    const NodeId producer = graph_.value(id).producer;
    return producer.valid() && !graph_.is_output(id) && !whole_of(id).valid() &&
           !ops::is_view({graph_, producer});
  }

  // Where the value's elements lie; itself if not in another.
  ValueId home_of(ValueId id) {
    while (!whole_of_.empty() && whole_of(id).valid()) id = whole_of(id);
    return id;
  }

  void add_buffer(ValueId id, int64_t born) {
    const ValueId home = home_of(id);
    if (buffer_of(home) < 0) {
      buffer_of(home) = static_cast<int32_t>(storage_.buffers.size());
      storage_.buffers.push_back({known_bytes(graph_.value(home).type), born, born});
    }
    share_buffer(id, buffer_of(home));
  }

  void share_buffer(ValueId id, int32_t buffer) {
    buffer_of(id) = buffer;
    int64_t& dies = storage_.buffers[static_cast<size_t>(buffer)].dies;
    dies = std::max(dies, last_use(id));
  }

  // The buffer that output 0 can live in; -1 if it needs one of its own.
  int32_t shared_buffer(const NodeView& node, int64_t position) {
    if (home_of(node.output(0)) != node.output(0)) return -1;
    const bool trains = reuse_ == Reuse::kTraining || reuse_ == Reuse::kTrainingHere;
    if (trains ? ops::is_view_in_training(node) : ops::is_view(node)) {
      return buffer_of(node.input(0));
    }
    if (reuse_ != Reuse::kInPlace || !ops::may_overwrite(node)) return -1;
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      if (!node.has_input(i) || node.input_type(i) != node.output_type(0)) continue;
      const int32_t buffer = buffer_of(node.input(i));
      if (buffer < 0) continue;
      const Buffer& candidate = storage_.buffers[static_cast<size_t>(buffer)];
      const bool ours = candidate.born >= 0;  // a graph input belongs to the caller
      if (ours && candidate.dies == position) return buffer;
    }
    return -1;
  }

  void place_outputs(int64_t position) {
    const NodeView node(graph_, ids_[static_cast<size_t>(position)]);
    for (size_t i = 0; i < node.num_outputs(); ++i) {
      if (!node.has_output(i)) continue;
      const int32_t shared = i == 0 ? shared_buffer(node, position) : -1;
      if (shared >= 0) {
        share_buffer(node.output(i), shared);
      } else {
        add_buffer(node.output(i), position);
      }
    }
  }

  const Graph& graph_;
  Reuse reuse_;
  std::vector<NodeId> ids_;
  std::vector<int64_t> last_use_;
  std::vector<ValueId> whole_of_;  // by index of the value: the concatenation it is a part of
  Storage storage_;
};

}  // namespace

bool joins_channels(const NodeView& node) {
  return node.op() == "Concat" && node.output_type(0).shape.rank() > 2 &&
         node.attr_int("axis", 0) == 1;
}

Storage plan_storage(const Graph& graph, Reuse reuse) {
  return Planner(graph, reuse).plan();
}

Peak peak_of(const Storage& storage) {
  // Change of the live bytes on entering each position; position -1 is entry 0.
  std::vector<int64_t> change(static_cast<size_t>(storage.num_nodes) + 3, 0);
  for (const Buffer& buffer : storage.buffers) {
    change[static_cast<size_t>(buffer.born + 1)] += buffer.bytes;
    change[static_cast<size_t>(buffer.dies + 2)] -= buffer.bytes;
  }
  Peak peak;
  int64_t live = 0;
  for (int64_t position = -1; position < storage.num_nodes; ++position) {
    live += change[static_cast<size_t>(position + 1)];
    if (live > peak.bytes) peak = {live, position};
  }
  return peak;
}

}  // namespace trainyard::analysis
