// The passes of a graph that is used and of one that is trained, in the order they run.
#include "passes/pass.h"

namespace trainyard::passes {

bool drop_identities(Graph& graph, const PassContext& context);
bool fold_constants(Graph& graph, const PassContext& context);
bool fold_padding(Graph& graph, const PassContext& context);
bool fold_affine(Graph& graph, const PassContext& context);
bool fuse_gradient_sum(Graph& graph, const PassContext& context);
bool fuse_matmul_bias(Graph& graph, const PassContext& context);
bool fuse_normalization(Graph& graph, const PassContext& context);
bool fuse_sum(Graph& graph, const PassContext& context);
bool fuse_activation(Graph& graph, const PassContext& context);
bool remove_dead(Graph& graph, const PassContext& context);

namespace {

constexpr Pass kInference[] = {
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

constexpr Pass kTraining[] = {
    {.name = "fuse_normalization", .run = fuse_normalization, .fuses = true},
};

}  // namespace

std::span<const Pass> inference_passes() {
  return kInference;
}

std::span<const Pass> training_passes() {
  return kTraining;
}

}  // namespace trainyard::passes
