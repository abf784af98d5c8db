// tanh of many numbers, and Tanh in whatever dense layout its input has.
#include "kernels/native/elementwise/tanh.h"

#include <algorithm>

#include "kernels/api/kernel.h"
#include "kernels/api/refusals.h"
#include "kernels/native/cpu.h"
#include "kernels/native/vector_math.h"
#include "kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_tanh(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

class Tanh final : public Kernel {
 public:
  explicit Tanh(int64_t count) : count_(count) {}

  void run(const KernelArgs& args) const override {
    tanh_of(args.inputs[0].as<float>(), count_, args.outputs[0].as<float>());
  }

 private:
  int64_t count_;
};

// Padding is zero and stays so.
std::optional<NodeLayouts> layouts_tanh(const NodeView& /*node*/, std::span<const Layout> inputs) {
  return NodeLayouts{.inputs = {inputs[0]}, .outputs = {inputs[0]}, .in_place_input = 0};
}

std::unique_ptr<Kernel> create_tanh(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Tanh>(layouts.inputs[0].span_elements(node.input_shape(0)));
}

}  // namespace

void tanh_of(const float* x, int64_t count, float* y) {
  const int64_t vectors = (count + kVector - 1) / kVector;
  parallel_for(vectors, [&](int64_t begin, int64_t end) {
    const int64_t whole = std::min(end, count / kVector);
    for (int64_t i = begin * kVector; i < whole * kVector; i += kVector) {
      _mm256_storeu_ps(y + i, tanh_vector(_mm256_loadu_ps(x + i)));
    }
    if (whole == end) return;
    alignas(32) float rest[kVector] = {};
    const int64_t left = count - whole * kVector;
    std::copy_n(x + whole * kVector, left, rest);
    _mm256_store_ps(rest, tanh_vector(_mm256_load_ps(rest)));
    std::copy_n(rest, left, y + whole * kVector);
  });
}

extern const KernelDef kTanh = {.op = "Tanh",
                                .library = "native",
                                .refuses = refuses_tanh,
                                .layouts = layouts_tanh,
                                .create_in = create_tanh};

}  // namespace trainyard::kernels::native
