#include "engine/kernels/onednn/layout_choice.h"

namespace trainyard::kernels::onednn {

Layout blocked_like(const Layout& offered, const Shape& shape) {
  const int64_t block = offered.block_of(1);
  return Layout::channel_blocks(shape, block > 1 ? block : channel_block());
}

}  // namespace trainyard::kernels::onednn
