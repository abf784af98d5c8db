// Compiled for processors other than x86-64, which have no vectors of AVX-512: what callers name,
// but never call there.
#include "base/error.h"
#include "engine/kernels/native/attention/wide_softmax.h"
#include "engine/kernels/native/conv/direct_tile.h"
#include "engine/kernels/native/conv/winograd_wide.h"
#include "engine/kernels/native/elementwise/smooth.h"
#include "engine/kernels/native/gemm/half_tile.h"
#include "engine/kernels/native/gemm/panel_gemm.h"
#include "engine/kernels/native/gemm/wide_tile.h"
#include "engine/kernels/native/int8/byte_kernels.h"
#include "engine/kernels/native/recurrent/recurrent.h"

namespace trainyard::kernels::native {
namespace {

[[noreturn]] void refuse() {
  TY_CHECK(false, "AVX-512 was asked for on a processor without");
  __builtin_unreachable();
}

}  // namespace

void wide_softmax(const WideSoftmax& /*job*/) {
  refuse();
}
void wide_scale(float* /*row*/, int64_t /*count*/, float /*factor*/) {
  refuse();
}
DirectTileFunction direct_tile(int64_t /*positions*/, int64_t /*vectors*/, int64_t /*block*/) {
  refuse();
}
WideWinogradTile wide_winograd_tile(int64_t /*outputs*/, int64_t /*points*/) {
  refuse();
}
void wide_tanh(const float* /*x*/, int64_t /*count*/, float /*alpha*/, float* /*y*/) {
  refuse();
}
void wide_swish(const float* /*x*/, int64_t /*count*/, float /*alpha*/, float* /*y*/) {
  refuse();
}
void wide_hard_swish(const float* /*x*/, int64_t /*count*/, float /*alpha*/, float* /*y*/) {
  refuse();
}
WideTileFunction wide_tile(int64_t /*rows*/, int64_t /*vectors*/) {
  refuse();
}
WideTileFunction half_tile(int64_t /*rows*/, int64_t /*vectors*/) {
  refuse();
}
void pack_halves_of_rows(HalfSource /*from*/, int64_t /*lines*/, int64_t /*depth*/, float* /*to*/) {
  refuse();
}
void pack_halves_of_lines(HalfSource /*from*/, int64_t /*lines*/, int64_t /*depth*/, float* /*to*/,
                          int64_t /*to_stride*/) {
  refuse();
}
void pack_halves_of_columns(HalfSource /*from*/, int64_t /*columns*/, int64_t /*depth*/,
                            float* /*to*/, int64_t /*to_stride*/) {
  refuse();
}
void panel_gemm_wide(const float* /*a*/, int64_t /*a_stride*/, int64_t /*rows*/, const float* /*b*/,
                     int64_t /*channels*/, const float* /*next*/, float* /*out*/,
                     int64_t /*out_stride*/) {
  refuse();
}
void panel_pair_gemm_wide(const float* /*a*/, int64_t /*a_stride*/, int64_t /*rows*/,
                          const float* /*b*/, int64_t /*b_stride*/, int64_t /*channels*/,
                          const float* /*next*/, float* /*out*/, int64_t /*out_stride*/) {
  refuse();
}
const ByteKernels& vnni_byte_kernels() {
  refuse();
}
RecurrentFunction wide_recurrent(CellKind /*kind*/) {
  refuse();
}

}  // namespace trainyard::kernels::native
