// Runs a kernel that chooses layouts on row-major tensors.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "engine/kernels/api/kernel.h"

namespace trainyard::testing {

// How inputs of three and more dimensions lie before the kernel says how it wants them.
enum class Offer { kRowMajor, kBlocksOf8, kBlocksOf16 };
inline constexpr std::array kOffers = {Offer::kRowMajor, Offer::kBlocksOf8, Offer::kBlocksOf16};

struct LayoutRun {
  std::vector<Tensor> outputs;  // row-major again
  int64_t stained_padding = 0;  // padding elements of the outputs that are not zero
};

// Nothing if the kernel does not take the node so offered. `inputs` has an empty tensor where one
// is absent. Output 0 is written over an input where the kernel says it may be.
std::optional<LayoutRun> run_in_layouts(const NodeView& node, const kernels::KernelDef& def,
                                        std::span<const Tensor> inputs, Offer offer);

}  // namespace trainyard::testing
