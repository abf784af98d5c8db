// Many tensors as one list of chunks, so that threads share the work evenly however the sizes
// differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/kernels/api/kernel.h"
#include "ir/node_view.h"
#include "tensor/layout.h"

namespace trainyard::kernels::native {

struct Chunk {
  size_t tensor = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

// Inputs `first` … `first + count - 1` of a node in their layouts, padding included.
inline std::vector<Chunk> chunks_of(const NodeView& node, const std::vector<Layout>& layouts,
                                    size_t first, size_t count) {
  // Small enough to balance, large enough to stream.
  constexpr int64_t kChunk = 16384;
  std::vector<Chunk> chunks;
  for (size_t t = 0; t < count; ++t) {
    const int64_t elements = layouts[first + t].span_elements(node.input_shape(first + t));
    for (int64_t begin = 0; begin < elements; begin += kChunk) {
      chunks.push_back({t, begin, std::min(elements, begin + kChunk)});
    }
  }
  return chunks;
}

// Of an optimizer's inputs: the rate and the count come before.
inline constexpr size_t kFirstTensor = 2;

// Everything lies as the tensors do: what is element by element has no opinion. `groups` counts
// tensor, gradient and states of one tensor.
inline NodeLayouts optimizer_layouts(const NodeView& node, std::span<const Layout> inputs,
                                     size_t groups) {
  const size_t tensors = (node.num_inputs() - kFirstTensor) / groups;
  NodeLayouts wanted;
  wanted.inputs.resize(kFirstTensor);
  for (size_t i = 0; i < tensors * groups; ++i) {
    wanted.inputs.push_back(inputs[kFirstTensor + i % tensors]);
  }
  for (size_t i = 0; i < node.num_outputs(); ++i) {
    wanted.outputs.push_back(inputs[kFirstTensor + i % tensors]);
  }
  return wanted;
}

}  // namespace trainyard::kernels::native
