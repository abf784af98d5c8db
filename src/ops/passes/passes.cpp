// The passes of a graph that is used and of one that is trained, in the order they run.
#include "ops/compute_known.h"
#include "ops/passes/describe.h"
#include "ops/passes/pass.h"

namespace trainyard::passes {

bool drop_copies(Graph& graph, const PassContext& context);
bool drop_identities(Graph& graph, const PassContext& context);
bool expand_pow(Graph& graph, const PassContext& context);
bool fold_constants(Graph& graph, const PassContext& context);
bool fold_padding(Graph& graph, const PassContext& context);
bool flatten_matmul(Graph& graph, const PassContext& context);
bool fold_affine(Graph& graph, const PassContext& context);
bool fold_into_weights(Graph& graph, const PassContext& context);
bool fuse_attention(Graph& graph, const PassContext& context);
bool fuse_experts(Graph& graph, const PassContext& context);
bool fuse_gelu(Graph& graph, const PassContext& context);
bool fuse_gradient_sum(Graph& graph, const PassContext& context);
bool fuse_hard_swish(Graph& graph, const PassContext& context);
bool fuse_integer_scale(Graph& graph, const PassContext& context);
bool fuse_layer_norm(Graph& graph, const PassContext& context);
bool fuse_matmul_bias(Graph& graph, const PassContext& context);
bool fuse_quantized(Graph& graph, const PassContext& context);
bool fuse_quantized_sum(Graph& graph, const PassContext& context);
bool fuse_normalization(Graph& graph, const PassContext& context);
bool fuse_sum(Graph& graph, const PassContext& context);
bool fuse_activation(Graph& graph, const PassContext& context);
bool normalize_quantized(Graph& graph, const PassContext& context);
bool pool_means(Graph& graph, const PassContext& context);
bool remove_dead(Graph& graph, const PassContext& context);
bool widen_halves(Graph& graph, const PassContext& context);

namespace {

// Quantized graphs come first: folded, their weights would be floats.
constexpr Pass kInferencePasses[] = {
    {.name = "widen_halves", .run = widen_halves, .fuses = true},
    {.name = "drop_identities", .run = drop_identities},
    {.name = "normalize_quantized", .run = normalize_quantized, .fuses = true},
    {.name = "fuse_quantized", .run = fuse_quantized, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fuse_quantized_sum", .run = fuse_quantized_sum, .fuses = true},
    {.name = "fold_constants", .run = fold_constants},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fuse_integer_scale", .run = fuse_integer_scale, .fuses = true},
    {.name = "fuse_attention", .run = fuse_attention, .fuses = true},
    {.name = "fuse_gelu", .run = fuse_gelu, .fuses = true},
    {.name = "fuse_experts", .run = fuse_experts, .fuses = true},
    {.name = "fuse_hard_swish", .run = fuse_hard_swish, .fuses = true},
    {.name = "fuse_layer_norm", .run = fuse_layer_norm, .fuses = true},
    {.name = "expand_pow", .run = expand_pow, .fuses = true},
    {.name = "pool_means", .run = pool_means, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "flatten_matmul", .run = flatten_matmul, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fold_padding", .run = fold_padding, .fuses = true},
    {.name = "fuse_matmul_bias", .run = fuse_matmul_bias, .fuses = true},
    {.name = "fold_affine", .run = fold_affine, .fuses = true},
    {.name = "fuse_sum", .run = fuse_sum, .fuses = true},
    {.name = "fuse_activation", .run = fuse_activation, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
};

// Folding and fusing hold for the parts that training does not change: what is frozen, and what
// gradients do not need.
constexpr Pass kTrainingPasses[] = {
    {.name = "drop_identities", .run = drop_identities},
    {.name = "fold_constants", .run = fold_constants},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fold_padding", .run = fold_padding, .fuses = true},
    {.name = "fuse_matmul_bias", .run = fuse_matmul_bias, .fuses = true},
    {.name = "fold_affine", .run = fold_affine, .fuses = true},
    {.name = "fuse_sum", .run = fuse_sum, .fuses = true},
    {.name = "fuse_activation", .run = fuse_activation, .fuses = true},
    {.name = "fuse_gradient_sum", .run = fuse_gradient_sum, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
};

constexpr Pass kBeforeGradientsPasses[] = {
    {.name = "fuse_experts", .run = fuse_experts, .fuses = true},
    {.name = "fuse_normalization", .run = fuse_normalization, .fuses = true},
};

// What is left has only operators that ONNX has.
constexpr Pass kStandardPasses[] = {
    {.name = "drop_identities", .run = drop_identities},
    {.name = "fold_constants", .run = fold_constants},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fuse_attention", .run = fuse_attention, .fuses = true},
    {.name = "fuse_gelu", .run = fuse_gelu, .fuses = true},
    {.name = "fuse_hard_swish", .run = fuse_hard_swish, .fuses = true},
    {.name = "fuse_layer_norm", .run = fuse_layer_norm, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fold_padding", .run = fold_padding, .fuses = true},
    {.name = "fuse_matmul_bias", .run = fuse_matmul_bias, .fuses = true},
    {.name = "fold_into_weights", .run = fold_into_weights, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
};

// Folding comes first, since scales and shapes are arithmetic too; a file's products of several
// dimensions become the matrix products that they are.
constexpr Pass kDescribedPasses[] = {
    {.name = "drop_copies", .run = drop_copies},
    {.name = "fold_constants", .run = fold_constants},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fuse_attention", .run = fuse_attention, .fuses = true},
    {.name = "fuse_gelu", .run = fuse_gelu, .fuses = true},
    {.name = "fuse_hard_swish", .run = fuse_hard_swish, .fuses = true},
    {.name = "fuse_layer_norm", .run = fuse_layer_norm, .fuses = true},
    {.name = "pool_means", .run = pool_means, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "flatten_matmul", .run = flatten_matmul, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
    {.name = "fuse_matmul_bias", .run = fuse_matmul_bias, .fuses = true},
    {.name = "remove_dead", .run = remove_dead},
};

constexpr PassList kInference = {"inference", kInferencePasses};
constexpr PassList kTraining = {"training", kTrainingPasses};
constexpr PassList kBeforeGradients = {"before-gradients", kBeforeGradientsPasses};
constexpr PassList kStandard = {"standard", kStandardPasses};

}  // namespace

const PassList& inference_passes() {
  return kInference;
}

const PassList& training_passes() {
  return kTraining;
}

const PassList& before_gradients_passes() {
  return kBeforeGradients;
}

const PassList& standard_passes() {
  return kStandard;
}

void describe(Graph& graph) {
  const PassContext context{.evaluate = [](const Graph& of, NodeId id) {
    return ops::compute_known({of, id});
  }};
  for (const Pass& pass : kDescribedPasses) pass.run(graph, context);
}

}  // namespace trainyard::passes
