// What the oneDNN kernels share: engine and stream, descriptors from our types, bound primitives.
#pragma once

#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <utility>
#include <vector>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/gemm/packed_buffer.h"

namespace trainyard::kernels::onednn {

using Desc = dnnl::memory::desc;

const dnnl::engine& engine();
// One per thread.
dnnl::stream& stream();

Desc to_desc(const TensorType& type, const Layout& layout);
// Row-major.
Desc to_desc(const TensorType& type);
// The library chooses the layout.
Desc any_desc(const TensorType& type);
Desc any_desc(const dnnl::memory::dims& dims);
// Row-major becomes the default layout.
Layout to_layout(const Desc& desc);

dnnl::memory::dims to_dims(std::span<const int64_t> values);

// Attributes with the scratch memory given by the caller, as several threads may run a primitive.
dnnl::primitive_attr user_scratch_attr();

// Appends the post-operation for an activation named by its ONNX operator; false if the library
// has none.
bool append_activation(dnnl::post_ops& ops, std::string_view activation, float alpha, float beta);

// Is the implementation one worth using? The library's own reference is slower than ours is worth.
bool is_fast(std::string_view implementation);

// Primitives with their arguments, run one after the other.
class BoundPrimitives final : public BoundKernel {
 public:
  using Arguments = std::vector<std::pair<int, dnnl::memory>>;

  void add(dnnl::primitive primitive, Arguments arguments);
  void run() override;

 private:
  struct Call {
    dnnl::primitive primitive;
    Arguments arguments;
    std::vector<dnnl_exec_arg_t> raw;
  };
  std::vector<Call> calls_;
};

// Kernels of this folder prepare everything in bind().
class OnednnKernel : public Kernel {
 public:
  void run(const KernelArgs& args) const override { bind(args)->run(); }
};

// A constant in the layout a primitive wants.
struct PackedConstant {
  Desc desc;
  native::PackedBuffer data;
  dnnl::memory memory() const;
};
PackedConstant pack_constant(const Desc& from, const void* data, const Desc& to);

inline dnnl::memory memory_at(const Desc& desc, void* data) {
  return {desc, engine(), data};
}

}  // namespace trainyard::kernels::onednn
