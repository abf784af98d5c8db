#include "cluster/predict/profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "analysis/memory.h"
#include "base/error.h"
#include "ops/nn/attention.h"
#include "ops/op_def.h"

namespace trainyard::predict {
namespace {

// Views, and what is known before the run.
bool costs_nothing(const NodeView& node) {
  return node.num_outputs() == 0 || ops::is_view_in_training(node) || ops::outputs_known(node) ||
         ops::all_inputs_constant(node);
}

double activation_inputs(const NodeView& node) {
  double elements = 0;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && node.input_value(i).kind != ValueKind::kInitializer) {
      elements += static_cast<double>(node.input_shape(i).num_elements());
    }
  }
  return elements;
}

void fill_conv(const NodeView& node, const ops::Window& window, OpProfile& op) {
  const Shape& x = node.input_shape(0);
  const Shape& w = node.input_shape(1);
  const Shape& y = node.output_shape(0);
  op.is_conv = true;
  op.groups = static_cast<double>(node.attr_int("group", 1));
  op.rows = static_cast<double>(y.num_elements(2, y.rank()));
  op.input_rows = static_cast<double>(x.num_elements(2, x.rank()));
  op.columns = static_cast<double>(w[0]) / op.groups;
  op.inner = static_cast<double>(w.num_elements(1, w.rank()));
  op.kernel_h = window.kernel[0];
  op.kernel_w = window.kernel.size() > 1 ? window.kernel[1] : 1;
  op.stride = window.strides[0];
  op.output_h = static_cast<double>(window.output[0]);
  op.output_w = window.output.size() > 1 ? static_cast<double>(window.output[1]) : 1.0;
}

double attention_scores(const NodeView& node) {
  const ops::AttentionShape shape = ops::attention_shape(node);
  return static_cast<double>(shape.batch * shape.query_heads * shape.queries * shape.total());
}

// Any matrix product, seen as rows x inner times inner x columns.
void fill_gemm(const NodeView& node, OpProfile& op) {
  const Shape& y = node.output_shape(0);
  op.columns = static_cast<double>(y.dim(-1));
  op.rows = op.output / op.columns;
  op.inner = op.output > 0 ? op.macs / op.output : 0;
  op.input_rows = op.rows;
}

using BatchAxes = std::map<ValueId, int64_t>;

// Notes the graph input that `value` comes from, and where the batch is in it, if `axis` is the
// batch of `value`.
void trace_batch(const Graph& graph, ValueId value, int64_t axis, BatchAxes& axes) {
  while (graph.value(value).producer.valid()) {
    const NodeView node(graph, graph.value(value).producer);
    const size_t data = node.op() == "Gather" ? 1 : 0;
    if (node.num_inputs() <= data || !node.has_input(data)) return;
    const Shape& shape = node.input_shape(data);
    if (node.op() == "Transpose") {
      axis = node.attr_ints("perm", {1, 0, 2})[static_cast<size_t>(axis)];
    } else if (axis >= shape.rank() || shape[axis] != graph.value(value).type.shape[axis]) {
      return;
    }
    value = node.input(data);
  }
  if (graph.value(value).kind == ValueKind::kInput) axes.emplace(value, axis);
}

// Recurrent layers read time x batch x numbers unless they say otherwise, and states likewise.
BatchAxes time_first_inputs(const Graph& graph) {
  constexpr std::array<size_t, 3> kWithBatch = {0, 5, 6};
  BatchAxes axes;
  for (const NodeId id : graph.node_ids()) {
    const NodeView layer(graph, id);
    const bool recurrent = layer.op() == "LSTM" || layer.op() == "GRU" || layer.op() == "RNN";
    if (!recurrent || layer.attr_int("layout", 0) != 0) continue;
    for (const size_t input : kWithBatch) {
      if (input >= layer.num_inputs() || !layer.has_input(input)) continue;
      trace_batch(graph, layer.input(input), /*axis=*/1, axes);
    }
  }
  return axes;
}

int64_t batch_of_inputs(const Graph& graph) {
  const BatchAxes axes = time_first_inputs(graph);
  int64_t batch = 0;
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    const auto found = axes.find(id);
    const int64_t axis = found != axes.end() ? found->second : 0;
    const Shape& shape = input.type.shape;
    TY_REQUIRE(shape.is_static() && shape.rank() > axis && shape[axis] > 0,
               "input '{}' has shape {}; prediction needs a fixed size and a batch", input.name,
               shape.to_string());
    if (batch == 0) batch = shape[axis];
    TY_REQUIRE(
        shape[axis] == batch,
        "input '{}' has shape {}, a batch of {}, but '{}' has a batch of {}; give the inputs "
        "the same with `shape`",
        input.name, shape.to_string(), shape[axis], graph.value(graph.inputs()[0]).name, batch);
  }
  return std::max<int64_t>(batch, 1);
}

// Nodes work on `batch` images at once.
OpProfile profile_node(const NodeView& node, double batch) {
  const ops::OpDef& def = ops::op_of(node);
  const ops::Cost cost = ops::node_cost(node);
  OpProfile op;
  op.name = node.name();
  op.op = node.op();
  op.kind = ops::kind_name(def.kind);
  if (costs_nothing(node)) return op;
  op.macs = static_cast<double>(cost.macs) / batch;
  op.flops = static_cast<double>(cost.flops) / batch;
  op.input = activation_inputs(node) / batch;
  op.output = static_cast<double>(node.output_shape(0).num_elements()) / batch;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    const ops::ParamRole role = ops::param_role(def, i);
    const bool trainable = role == ops::ParamRole::kWeight || role == ops::ParamRole::kBias;
    if (!trainable || !node.has_input(i)) continue;
    if (node.input_value(i).kind != ValueKind::kInitializer) continue;
    op.weights += static_cast<double>(node.input_shape(i).num_elements());
    op.has_bias = op.has_bias || role == ops::ParamRole::kBias;
  }
  const auto window = def.window != nullptr ? def.window(node) : std::nullopt;
  if (def.kind == ops::OpKind::kConvolution && window) {
    op.work = Work::kProduct;
    fill_conv(node, *window, op);
  } else if (def.kind == ops::OpKind::kLinear) {
    op.work = Work::kProduct;
    fill_gemm(node, op);
    if (node.op() == "Attention") op.scores = attention_scores(node) / batch;
  } else {
    op.work = Work::kTraffic;
    const ops::MemoryPasses passes = ops::memory_passes(def);
    const double mean = (op.input + op.output) / 2;
    const double size = def.kind == ops::OpKind::kElementwise ? op.output : mean;
    op.forward_inference = passes.inference * size;
    op.forward_training = passes.training * size;
    op.backward = passes.backward * size;
  }
  return op;
}

bool is_norm(const OpProfile& op) {
  return op.op == "BatchNormalization";
}

// `made_by`: the operator behind each value so far.
Chain chain_of(const NodeView& node, const OpProfile& op,
               const std::map<ValueId, const OpProfile*>& made_by) {
  const bool can_follow = is_norm(op) || op.kind == ops::kind_name(ops::OpKind::kActivation) ||
                          op.kind == ops::kind_name(ops::OpKind::kElementwise);
  Chain best = Chain::kNone;
  if (!can_follow) return best;
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (!node.has_input(i) || node.input_value(i).consumers.size() != 1) continue;
    const auto found = made_by.find(node.input(i));
    if (found == made_by.end()) continue;
    const OpProfile& before = *found->second;
    Chain chain = before.chain;
    if (before.work == Work::kProduct) chain = Chain::kProduct;
    if (is_norm(before)) chain = Chain::kNorm;
    best = std::max(best, chain);
  }
  return best;
}

// `trained`: the values so far that depend on something trainable.
bool depends_on(const NodeView& node, const std::set<ValueId>& trained) {
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.has_input(i) && trained.contains(node.input(i))) return true;
  }
  return false;
}

}  // namespace

NetworkProfile profile_graph(const Graph& graph) {
  NetworkProfile profile;
  profile.name = graph.name();
  const auto batch = static_cast<double>(batch_of_inputs(graph));
  for (const ValueId id : graph.inputs()) {
    profile.input += static_cast<double>(graph.value(id).type.shape.num_elements()) / batch;
  }
  const std::vector<NodeId> nodes = graph.node_ids();
  profile.ops.reserve(nodes.size());  // made_by points into it
  std::map<ValueId, const OpProfile*> made_by;
  std::set<ValueId> trained;
  for (const NodeId id : nodes) {
    const NodeView node(graph, id);
    OpProfile op = profile_node(node, batch);
    op.data_gradient = depends_on(node, trained);
    if (op.data_gradient || op.weights > 0) {
      trained.insert(graph.node(id).outputs.begin(), graph.node(id).outputs.end());
    }
    profile.macs += op.macs;
    if (op.weights > 0) profile.parameter_tensors += op.has_bias ? 2 : 1;
    if (op.work == Work::kView) continue;
    op.chain = chain_of(node, op, made_by);
    const ValueId output = graph.node(id).outputs[0];
    op.uses = static_cast<double>(graph.value(output).consumers.size());
    made_by[output] = &profile.ops.emplace_back(std::move(op));
  }
  const analysis::MemoryUse memory = analysis::analyze_memory(graph);
  profile.training_bytes = static_cast<double>(memory.training.bytes) / batch;
  profile.inference_bytes = static_cast<double>(memory.inference_in_place.bytes) / batch;
  profile.weight_bytes = static_cast<double>(memory.weights());
  profile.parameters = static_cast<double>(memory.trainable) / 4;
  return profile;
}

NetworkProfile merged(const NetworkProfile& profile) {
  const auto key = [](const OpProfile& op) {
    return std::tie(op.work, op.op, op.chain, op.uses, op.is_conv, op.macs, op.input, op.output,
                    op.weights, op.has_bias, op.data_gradient, op.rows, op.columns, op.inner,
                    op.groups, op.input_rows, op.kernel_h, op.kernel_w, op.stride, op.output_h,
                    op.output_w, op.scores, op.forward_inference, op.forward_training, op.backward);
  };
  NetworkProfile out = profile;
  out.ops.clear();
  for (const OpProfile& op : profile.ops) {
    const auto same = std::find_if(out.ops.begin(), out.ops.end(),
                                   [&](const OpProfile& other) { return key(op) == key(other); });
    if (same == out.ops.end()) {
      out.ops.push_back(op);
    } else {
      same->count += op.count;
    }
  }
  return out;
}

NetworkProfile ungrouped(NetworkProfile profile) {
  for (OpProfile& op : profile.ops) {
    if (op.groups <= 1) continue;
    const double bias = op.has_bias ? op.columns * op.groups : 0;
    profile.macs += op.macs * (op.groups - 1);
    profile.parameters += (op.weights - bias) * (op.groups - 1);
    profile.weight_bytes += 4 * (op.weights - bias) * (op.groups - 1);
    op.weights = (op.weights - bias) * op.groups + bias;
    op.macs *= op.groups;
    op.inner *= op.groups;
    op.columns *= op.groups;
    op.groups = 1;
  }
  return profile;
}

}  // namespace trainyard::predict
