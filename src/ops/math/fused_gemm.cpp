// FusedGemm: activation(Gemm(a, b, c)). The compiler makes it from ONNX nodes; no file has it.
#include "ops/math/activation.h"
#include "ops/op_def.h"

namespace trainyard::ops {

extern const OpDef kGemm;

namespace {

constexpr AttrSpec kFusedGemmAttributes[] = {{"activation", AttrKind::kText},
                                             {"activation_alpha", AttrKind::kFloat},
                                             {"activation_beta", AttrKind::kFloat},
                                             {"alpha", AttrKind::kFloat},
                                             {"beta", AttrKind::kFloat},
                                             {"transA", AttrKind::kInt},
                                             {"transB", AttrKind::kInt}};
constexpr ParamRole kFusedGemmRoles[] = {ParamRole::kWeight, ParamRole::kWeight, ParamRole::kBias};

std::vector<TensorType> infer_fused_gemm(const NodeView& node) {
  check_activation(node);
  return kGemm.infer(node);
}

Cost cost_fused_gemm(const NodeView& node) {
  Cost cost = kGemm.cost(node);
  cost.flops += activation_flops(node) * node.output_shape(0).num_elements();
  return cost;
}

}  // namespace

extern const OpDef kFusedGemm = {.name = "FusedGemm",
                                 .kind = OpKind::kLinear,
                                 .inputs = {2, 3},
                                 .attributes = kFusedGemmAttributes,
                                 .roles = kFusedGemmRoles,
                                 .infer = infer_fused_gemm,
                                 .cost = cost_fused_gemm,
                                 .with_activation = "FusedGemm"};

}  // namespace trainyard::ops
