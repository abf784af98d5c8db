// FusedConv: activation(Conv(x, w, b) + sum). The compiler makes it from ONNX nodes; no file has
// it.
#include "base/error.h"
#include "ops/math/activation.h"
#include "ops/op_def.h"

namespace trainyard::ops {

extern const OpDef kConv;

namespace {

constexpr AttrSpec kFusedConvAttributes[] = {
    {"activation", AttrKind::kText},       {"activation_alpha", AttrKind::kFloat},
    {"activation_beta", AttrKind::kFloat}, {"auto_pad", AttrKind::kText},
    {"dilations", AttrKind::kInts},        {"group", AttrKind::kInt},
    {"kernel_shape", AttrKind::kInts},     {"pads", AttrKind::kInts},
    {"strides", AttrKind::kInts}};
constexpr ParamRole kFusedConvRoles[] = {ParamRole::kNone, ParamRole::kWeight, ParamRole::kBias};
constexpr size_t kSum = 3;

std::vector<TensorType> infer_fused_conv(const NodeView& node) {
  std::vector<TensorType> types = kConv.infer(node);
  check_activation(node);
  if (node.has_input(kSum)) {
    TY_REQUIRE(node.input_type(kSum) == types[0], "the added tensor is {}, expected {}",
               node.input_type(kSum).to_string(), types[0].to_string());
  }
  return types;
}

Cost cost_fused_conv(const NodeView& node) {
  Cost cost = kConv.cost(node);
  const int64_t extra = (node.has_input(kSum) ? 1 : 0) + activation_flops(node);
  cost.flops += extra * node.output_shape(0).num_elements();
  return cost;
}

std::optional<Window> window_fused_conv(const NodeView& node) {
  return kConv.window(node);
}

}  // namespace

extern const OpDef kFusedConv = {.name = "FusedConv",
                                 .kind = OpKind::kConvolution,
                                 .inputs = {2, 4},
                                 .attributes = kFusedConvAttributes,
                                 .roles = kFusedConvRoles,
                                 .infer = infer_fused_conv,
                                 .cost = cost_fused_conv,
                                 .window = window_fused_conv,
                                 .with_activation = "FusedConv"};

}  // namespace trainyard::ops
