// Add, Sub, Mul, Div, Max, Min and Sum of two tensors: of the same shape, or one number per channel
// (of each image, or of all), or one number.
#include <algorithm>
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

enum class Form : uint8_t { kNone, kSame, kPerChannel, kOne };

// How operand `i` is stretched to the shape of the result.
Form form_of(const NodeView& node, size_t i) {
  const Shape& x = node.input_shape(i);
  const Shape& y = node.output_shape(0);
  if (x == y) return Form::kSame;
  if (x.num_elements() == 1) return Form::kOne;
  if (x.rank() != y.rank() || y.rank() < 3 || x[1] != y[1]) return Form::kNone;
  if (x[0] != y[0] && x[0] != 1) return Form::kNone;
  return x.num_elements(2, x.rank()) == 1 ? Form::kPerChannel : Form::kNone;
}

std::string_view refuses_binary(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.num_inputs() != 2) return "only two operands are implemented";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.output_shape(0).num_elements() == 0) return "the result is empty";
  if (form_of(node, 0) == Form::kNone || form_of(node, 1) == Form::kNone ||
      (form_of(node, 0) != Form::kSame && form_of(node, 1) != Form::kSame)) {
    return "this kind of broadcasting is not implemented";
  }
  return "";
}

using Function = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                          int64_t count, int64_t block);

// Steps: 1 for an operand that moves along, 0 for one that repeats every `block` elements.
template <typename F>
void apply(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y, int64_t count,
           int64_t block) {
  const F f;
  if (a_step != 0 && b_step != 0) {
    for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  } else if (block == 1) {
    const float fixed = a_step == 0 ? *a : *b;
    if (a_step == 0) {
      for (int64_t i = 0; i < count; ++i) y[i] = f(fixed, b[i]);
    } else {
      for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], fixed);
    }
  } else {
    for (int64_t i = 0; i < count; i += block) {
      for (int64_t j = 0; j < block; ++j) {
        y[i + j] = f(a[a_step * i + j], b[b_step * i + j]);
      }
    }
  }
}

struct Plus {
  float operator()(float a, float b) const { return a + b; }
};
struct Minus {
  float operator()(float a, float b) const { return a - b; }
};
struct Times {
  float operator()(float a, float b) const { return a * b; }
};
struct Over {
  float operator()(float a, float b) const { return a / b; }
};
struct Larger {
  float operator()(float a, float b) const { return a > b || std::isnan(a) ? a : b; }
};
struct Smaller {
  float operator()(float a, float b) const { return a < b || std::isnan(a) ? a : b; }
};

Function function_of(std::string_view op) {
  if (op == "Add" || op == "Sum") return apply<Plus>;
  if (op == "Sub") return apply<Minus>;
  if (op == "Mul") return apply<Times>;
  if (op == "Div") return apply<Over>;
  if (op == "Max") return apply<Larger>;
  return apply<Smaller>;
}

class Binary final : public Kernel {
 public:
  Binary(const NodeView& node, const NodeLayouts& layouts)
      : y_(planes_of(node.output_shape(0), layouts.outputs[0])), function_(function_of(node.op())) {
    for (size_t i = 0; i < 2; ++i) {
      form_[i] = form_of(node, i);
      if (form_[i] == Form::kSame) {
        image_stride_[i] = planes_of(node.output_shape(0), layouts.inputs[i]).image_stride;
      } else if (form_[i] == Form::kPerChannel && node.input_shape(i)[0] > 1) {
        image_stride_[i] = y_.planes * y_.block;
      }
    }
  }

  void run(const KernelArgs& args) const override {
    const bool per_channel =
        form_[0] == Form::kPerChannel || form_[1] == Form::kPerChannel || y_.block > 1;
    // Planes are small late in a network; without a need for them a whole image is one piece.
    const int64_t pieces = per_channel ? y_.planes : 1;
    const int64_t piece = y_.image_elements() / pieces;
    const int64_t cuts = y_.block > 1 ? 1 : std::max<int64_t>(1, piece / kLeastWork);
    parallel_for(y_.images * pieces * cuts, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t cut = i % cuts;
        const int64_t first = piece * cut / cuts;
        const int64_t last = piece * (cut + 1) / cuts;
        run_piece(args, i / cuts / pieces, i / cuts % pieces, piece, first, last - first);
      }
    });
  }

 private:
  static constexpr int64_t kLeastWork = 4096;

  void run_piece(const KernelArgs& args, int64_t image, int64_t index, int64_t piece, int64_t first,
                 int64_t count) const {
    const float* x[2];
    for (size_t i = 0; i < 2; ++i) {
      x[i] = args.inputs[i].as<float>();
      if (form_[i] == Form::kSame) x[i] += image * image_stride_[i] + index * piece + first;
      if (form_[i] == Form::kPerChannel) x[i] += image * image_stride_[i] + index * y_.block;
    }
    const bool one = form_[0] == Form::kOne || form_[1] == Form::kOne;
    function_(x[0], form_[0] == Form::kSame ? 1 : 0, x[1], form_[1] == Form::kSame ? 1 : 0,
              args.outputs[0].as<float>() + image * y_.image_stride + index * piece + first, count,
              one ? 1 : y_.block);
  }

  Planes y_;
  Function function_;
  Form form_[2] = {Form::kSame, Form::kSame};
  int64_t image_stride_[2] = {0, 0};
};

std::optional<NodeLayouts> layouts_binary(const NodeView& node, std::span<const Layout> inputs) {
  const Shape& y = node.output_shape(0);
  const size_t whole = form_of(node, 0) == Form::kSame ? 0 : 1;
  // What is blocked stays so, unless padding would become something other than zero.
  int64_t block = 1;
  for (size_t i = 0; i < 2; ++i) {
    if (form_of(node, i) == Form::kSame && has_planes(y, inputs[i])) {
      block = std::max(block, inputs[i].block_of(1));
    }
  }
  const bool one = form_of(node, 0) == Form::kOne || form_of(node, 1) == Form::kOne;
  if (block > 1 && y[1] % block != 0 && (one || node.op() == "Div")) block = 1;
  NodeLayouts wanted;
  wanted.outputs = {block > 1 ? Layout::channel_blocks(y, block) : Layout()};
  for (size_t i = 0; i < 2; ++i) {
    const bool blocked = block > 1 && form_of(node, i) != Form::kOne;
    wanted.inputs.push_back(blocked ? Layout::channel_blocks(node.input_shape(i), block)
                                    : Layout());
  }
  wanted.takes_parts = block > 1 && form_of(node, 1 - whole) == Form::kSame;
  wanted.in_place_input = static_cast<int>(whole);
  return wanted;
}

std::unique_ptr<Kernel> create_binary(const NodeView& node, const NodeLayouts& layouts) {
  return std::make_unique<Binary>(node, layouts);
}

constexpr KernelDef binary_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_binary,
          .layouts = layouts_binary,
          .create_in = create_binary};
}

}  // namespace

extern const KernelDef kAdd = binary_kernel("Add");
extern const KernelDef kDiv = binary_kernel("Div");
extern const KernelDef kMax = binary_kernel("Max");
extern const KernelDef kMin = binary_kernel("Min");
extern const KernelDef kMul = binary_kernel("Mul");
extern const KernelDef kSub = binary_kernel("Sub");
extern const KernelDef kSum = binary_kernel("Sum");

}  // namespace trainyard::kernels::native
