// A kernel computes one node. It is created once, from the node and its types, and run many times.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ir/node_view.h"
#include "tensor/tensor.h"

namespace trainyard::kernels {

// What one run works on. An absent optional input or output has a null data pointer.
struct KernelArgs {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  std::span<std::byte> scratch;  // scratch_bytes() of it, aligned to Tensor::kAlignment
};

// run() may be called from several threads at once, each with its own arguments. It does not
// allocate and does not throw on anything that could be refused at creation; bad data (an index
// outside a tensor) is Error.
class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  virtual void run(const KernelArgs& args) const = 0;
  virtual int64_t scratch_bytes() const { return 0; }
  // For operators whose output shapes depend on the data (NonZero): asked before run(), with the
  // inputs. Others return nothing.
  virtual std::vector<Shape> output_shapes(std::span<const TensorView> /*inputs*/) const {
    return {};
  }
};

// One way to compute an operator. Tables list them fastest first, the reference last.
struct KernelDef {
  std::string_view op;
  std::string_view library;  // "reference", "onednn", "native"
  // Why this kernel does not take the node; empty if it does. Null: takes every node.
  std::string_view (*refuses)(const NodeView&) = nullptr;
  std::unique_ptr<Kernel> (*create)(const NodeView&) = nullptr;
};

}  // namespace trainyard::kernels
