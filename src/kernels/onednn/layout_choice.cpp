#include "kernels/onednn/layout_choice.h"

#include "kernels/native/peak.h"

namespace trainyard::kernels::onednn {

namespace {

bool library_uses_wide_vectors() {
  const auto wide = static_cast<unsigned>(dnnl::cpu_isa::avx512_core);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wide) == wide;
}

}  // namespace

int64_t channel_block() {
  static const int64_t kBlock = library_uses_wide_vectors() && native::wide_vectors_pay() ? 16 : 8;
  return kBlock;
}

Layout blocked_like(const Layout& offered, const Shape& shape) {
  const int64_t block = offered.block_of(1);
  return Layout::channel_blocks(shape, block > 1 ? block : channel_block());
}

}  // namespace trainyard::kernels::onednn
