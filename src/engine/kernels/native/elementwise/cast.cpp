// Cast, in whatever dense layout its input has, by all threads.
#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

bool is_plain(DType dtype) {
  return !is_narrow(dtype) && dtype != DType::kText;
}

std::string_view refuses_cast(const NodeView& node) {
  if (!is_plain(node.input_type(0).dtype) || !is_plain(node.output_type(0).dtype)) {
    return "texts and numbers of fewer than eight bits are not implemented";
  }
  return "";
}

class Cast final : public Kernel {
 public:
  explicit Cast(int64_t count) : count_(count) {}

  void run(const KernelArgs& args) const override {
    constexpr int64_t kRun = 4096;
    parallel_for((count_ + kRun - 1) / kRun, [&](int64_t begin, int64_t end) {
      const int64_t first = begin * kRun;
      const Shape part{std::min(end * kRun, count_) - first};
      cast_elements(part_of_view(args.inputs[0], part, first),
                    part_of_view(args.outputs[0], part, first));
    });
  }

 private:
  static TensorView part_of_view(const TensorView& whole, const Shape& part, int64_t first) {
    return {whole.dtype, &part, whole.as<std::byte>() + first * dtype_size(whole.dtype)};
  }

  int64_t count_;
};

// Blocks are for kernels of f32; their padding is zero and stays so.
std::optional<NodeLayouts> layouts_cast(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = node.output_type(0).dtype == DType::kF32 ? inputs[0] : Layout();
  return NodeLayouts{.inputs = {layout}, .outputs = {layout}};
}

std::unique_ptr<Kernel> create_cast(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Cast>(layouts.inputs[0].span_elements(node.input_shape(0)));
}

}  // namespace

extern const KernelDef kCast = {.op = "Cast",
                                .library = "native",
                                .refuses = refuses_cast,
                                .layouts = layouts_cast,
                                .create_in = create_cast};

}  // namespace trainyard::kernels::native
