// A kernel computes one node. It is created once, from the node and its types, and run many times.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kernels/api/precision.h"
#include "ir/node_view.h"
#include "tensor/layout.h"
#include "tensor/tensor.h"

namespace trainyard::device {
class Device;
}

namespace trainyard::kernels {

// What one run works on. An absent optional input or output, and an input the kernel holds itself,
// has a null data pointer.
struct KernelArgs {
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;
  std::span<std::byte> scratch;  // scratch_bytes() of it, aligned to Tensor::kAlignment
};

// A kernel with its arguments in place. Belongs to one execution context; never outlives the
// kernel or the memory it was bound to.
class BoundKernel {
 public:
  BoundKernel() = default;
  virtual ~BoundKernel() = default;
  BoundKernel(const BoundKernel&) = delete;
  BoundKernel& operator=(const BoundKernel&) = delete;
  virtual void run() = 0;
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
  // Prepares what run() would otherwise do anew each time. Null: nothing to prepare, call run().
  virtual std::unique_ptr<BoundKernel> bind(const KernelArgs& /*args*/) const { return nullptr; }
  virtual int64_t scratch_bytes() const { return 0; }
  // The kernel has its own packed copy of this constant input and is not given it.
  virtual bool holds_input(size_t /*input*/) const { return false; }
  // Of its products.
  virtual Precision precision() const { return Precision::kF32; }
  // Which implementation inside the library, for people: "jit:avx2".
  virtual std::string detail() const { return {}; }
  // For operators whose output shapes depend on the data (NonZero): asked before run(), with the
  // inputs. Others return nothing.
  virtual std::vector<Shape> output_shapes(std::span<const TensorView> /*inputs*/) const {
    return {};
  }
};

// How a node's operands lie in memory.
struct NodeLayouts {
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  // Operands may be parts of larger buffers: the stride of axis 0 may be larger than dense.
  bool takes_parts = false;
  // Output 0 may be written over this input; -1: none.
  int in_place_input = -1;
  // ... and must be: the kernel adds to what is there.
  bool in_place_required = false;
};

// One way to compute an operator. Tables list them fastest first, the reference last. A kernel for
// row-major data has `create`; one that chooses layouts has `layouts` and `create_in` instead.
struct KernelDef {
  std::string_view op;
  std::string_view library;  // "reference", "onednn", "native", "device"
  // Why this kernel does not take the node; empty if it does. Null: takes every node.
  std::string_view (*refuses)(const NodeView&) = nullptr;
  std::unique_ptr<Kernel> (*create)(const NodeView&) = nullptr;
  // The layouts the kernel wants, given those its inputs have so far. Nothing: it cannot take the
  // node after all.
  std::optional<NodeLayouts> (*layouts)(const NodeView&, std::span<const Layout> inputs) = nullptr;
  std::unique_ptr<Kernel> (*create_in)(const NodeView&, const NodeLayouts&) = nullptr;
  // Instead of both, for a kernel of a device, which outlives it: inputs that are known before the
  // run are held, the others and all outputs lie on the device.
  std::unique_ptr<Kernel> (*create_on)(const NodeView&, const NodeLayouts&,
                                       trainyard::device::Device&) = nullptr;
  // Instead of all, for operators whose result has a size that only the data decide and that is as
  // much work to find as the result: all inputs are constants of the node, and this makes the
  // outputs.
  std::vector<Tensor> (*make_outputs)(const NodeView&) = nullptr;
};

}  // namespace trainyard::kernels
