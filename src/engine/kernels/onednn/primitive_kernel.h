// A kernel around one oneDNN primitive from x to y, in the layouts its descriptor names.
#pragma once

#include "engine/kernels/onednn/dnnl.h"

namespace trainyard::kernels::onednn {

template <typename Primitive>
class PrimitiveKernel final : public OnednnKernel {
 public:
  using PrimitiveDesc = typename Primitive::primitive_desc;

  explicit PrimitiveKernel(PrimitiveDesc pd) : pd_(std::move(pd)), primitive_(pd_) {}

  std::unique_ptr<BoundKernel> bind(const KernelArgs& args) const override {
    auto bound = std::make_unique<BoundPrimitives>();
    bound->add(primitive_,
               {{DNNL_ARG_SRC, memory_at(pd_.src_desc(), args.inputs[0].data)},
                {DNNL_ARG_DST, memory_at(pd_.dst_desc(), args.outputs[0].data)},
                {DNNL_ARG_SCRATCHPAD, memory_at(pd_.scratchpad_desc(), args.scratch.data())}});
    return bound;
  }
  int64_t scratch_bytes() const override {
    return static_cast<int64_t>(pd_.scratchpad_desc().get_size());
  }
  std::string detail() const override { return pd_.impl_info_str(); }

 private:
  PrimitiveDesc pd_;
  Primitive primitive_;
};

}  // namespace trainyard::kernels::onednn
