// Sum of three and more tensors of one shape: every operand is read once and nothing is written in
// between.
#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/elementwise/elementwise.h"

namespace trainyard::kernels::native {
namespace {

std::string_view refuses_sum(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.num_inputs() < 3) return "it has fewer than three operands";
  for (size_t i = 0; i < node.num_inputs(); ++i) {
    if (node.input_shape(i) != node.output_shape(0)) return "broadcasting is not implemented";
  }
  return "";
}

std::vector<Layout> all_layouts(const NodeLayouts& layouts) {
  std::vector<Layout> all = layouts.inputs;
  all.push_back(layouts.outputs[0]);
  return all;
}

class SumSum final : public Kernel {
 public:
  SumSum(const NodeView& node, const NodeLayouts& layouts)
      : count_(node.num_inputs()), runs_(node.output_shape(0), all_layouts(layouts)) {}

  void run(const KernelArgs& args) const override {
    runs_.for_each([&](int64_t image, int64_t first, int64_t count) {
      const auto input = [&](size_t i) -> const float* {
        return args.inputs[i].as<float>() + runs_.offset(i, image, first);
      };
      float* y = args.outputs[0].as<float>() + runs_.offset(count_, image, first);
      // A run stays in the first cache from one pair of operands to the next.
      add(input(0), input(1), y, count);
      for (size_t i = 2; i < count_; ++i) add(y, input(i), y, count);
    });
  }

 private:
  static void add(const float* a, const float* b, float* y, int64_t count) {
    for (int64_t i = 0; i < count; ++i) y[i] = a[i] + b[i];
  }

  size_t count_;
  ElementRuns runs_;
};

std::optional<NodeLayouts> layouts_sum(const NodeView& node, std::span<const Layout> inputs) {
  const Layout layout = common_layout(node.output_shape(0), inputs, /*fit=*/true);
  NodeLayouts wanted{.inputs = {},
                     .outputs = {layout},
                     .takes_parts = !layout.is_row_major(),
                     .in_place_input = 0};
  wanted.inputs.assign(node.num_inputs(), layout);
  return wanted;
}

std::unique_ptr<Kernel> create_sum(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<SumSum>(node, layouts);
}

}  // namespace

extern const KernelDef kSumOfMany = {.op = "Sum",
                                     .library = "native",
                                     .refuses = refuses_sum,
                                     .layouts = layouts_sum,
                                     .create_in = create_sum};

}  // namespace trainyard::kernels::native
