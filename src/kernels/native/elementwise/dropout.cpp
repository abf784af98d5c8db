// DropoutTraining, row-major or on blocks of channels: the mask of an element follows from its
// index alone, so forward and backward may lie differently.
#include <cmath>

#include "base/random.h"
#include "kernels/api/kernel.h"
#include "kernels/api/refusals.h"
#include "kernels/native/cpu.h"
#include "kernels/native/elementwise/elementwise.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_dropout(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  return "";
}

class Dropout final : public Kernel {
 public:
  Dropout(const NodeView& node, const NodeLayouts& layouts)
      : channels_(node.input_shape(0).rank() < 2 ? 1 : node.input_shape(0)[1]),
        x_(planes_of(node.input_shape(0), layouts.inputs[0])),
        y_(planes_of(node.input_shape(0), layouts.outputs[0])),
        least_(static_cast<uint64_t>(
            std::ceil(std::ldexp(double{node.attr_float("ratio", 0)}, kUniformBits)))),
        factor_(static_cast<float>(1.0 / (1.0 - double{node.attr_float("ratio", 0)}))),
        seed_(static_cast<uint64_t>(node.attr_int("seed", 0))) {}

  void run(const KernelArgs& args) const override {
    const RandomStream stream(seed_, static_cast<uint64_t>(*args.inputs[1].as<int64_t>()));
    parallel_for(x_.images * x_.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / x_.planes;
        const int64_t plane = i % x_.planes;
        const int64_t at = plane * x_.plane_elements();
        const int64_t first = (image * channels_ + plane * x_.block) * x_.positions;
        run_plane(stream, args.inputs[0].as<float>() + image * x_.image_stride + at,
                  args.outputs[0].as<float>() + image * y_.image_stride + at, first);
      }
    });
  }

 private:
  // RandomStream::uniform() has so many.
  static constexpr int kUniformBits = 53;

  // `first`: the index of the first element, counted as in row-major order.
  void run_plane(const RandomStream& stream, const float* x, float* y, int64_t first) const {
    for (int64_t position = 0; position < x_.positions; ++position) {
      for (int64_t lane = 0; lane < x_.block; ++lane) {
        const int64_t at = position * x_.block + lane;
        const auto index = static_cast<uint64_t>(first + lane * x_.positions + position);
        const bool kept = (stream.bits(index) >> (64 - kUniformBits)) >= least_;
        y[at] = kept ? x[at] * factor_ : 0.0F;
      }
    }
  }

  int64_t channels_;
  Planes x_;
  Planes y_;
  uint64_t least_;  // what is drawn is at least this if the element is kept
  float factor_;
  uint64_t seed_;
};

std::optional<NodeLayouts> layouts_dropout(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = common_layout(node.input_shape(0), inputs.first(1), /*fit=*/true);
  return NodeLayouts{.inputs = {layout, {}},
                     .outputs = {layout},
                     .takes_parts = !layout.is_row_major(),
                     .in_place_input = 0};
}

std::unique_ptr<Kernel> create_dropout(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Dropout>(node, layouts);
}

}  // namespace

extern const KernelDef kDropoutTraining = {.op = "DropoutTraining",
                                           .library = "native",
                                           .refuses = refuses_dropout,
                                           .layouts = layouts_dropout,
                                           .create_in = create_dropout};

}  // namespace trainyard::kernels::native
