// Add, Sub, Mul and Div of a tensor and one number for each of its rows, or one row for all of
// them, row-major: what gradients of normalizations and attention are made of.
#include <algorithm>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/parallel/parallel.h"

namespace trainyard::kernels::native {
namespace {

enum class RowForm : uint8_t { kNone, kWhole, kNumberPerRow, kOneRow };

// How an operand is stretched to the shape of the result, whose rows have `row` elements.
struct RowOperand {
  RowForm form = RowForm::kNone;
  int64_t row = 1;
};

RowOperand row_operand(const Shape& x, const Shape& y) {
  if (x == y) return {RowForm::kWhole, 1};
  const auto product = [&](int64_t from) { return y.num_elements(from, y.rank()); };
  if (x.rank() == y.rank()) {
    int64_t axis = 0;
    while (x[axis] == y[axis]) ++axis;
    if (x.num_elements(axis, x.rank()) == 1) return {RowForm::kNumberPerRow, product(axis)};
  }
  // From the right: equal dimensions, then none or ones.
  int64_t equal = 0;
  while (equal < x.rank() && x[x.rank() - 1 - equal] == y[y.rank() - 1 - equal]) ++equal;
  const bool one_row = x.num_elements(0, x.rank() - equal) == 1 && equal > 0;
  return one_row ? RowOperand{RowForm::kOneRow, product(y.rank() - equal)} : RowOperand{};
}

std::string_view refuses_row_binary(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.num_inputs() != 2) return "only two operands are implemented";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  const Shape& y = node.output_shape(0);
  if (!y.is_static() || y.num_elements() == 0)
    return "the result is empty or its size is not known";
  const RowForm a = row_operand(node.input_shape(0), y).form;
  const RowForm b = row_operand(node.input_shape(1), y).form;
  if (a == RowForm::kNone || b == RowForm::kNone)
    return "this kind of broadcasting is not implemented";
  if ((a == RowForm::kWhole) == (b == RowForm::kWhole))
    return "not exactly one operand is stretched";
  return "";
}

struct RowPlus {
  float operator()(float a, float b) const { return a + b; }
};
struct RowMinus {
  float operator()(float a, float b) const { return a - b; }
};
struct RowTimes {
  float operator()(float a, float b) const { return a * b; }
};
struct RowOver {
  float operator()(float a, float b) const { return a / b; }
};

// One row; an operand with `fixed` is one number.
using RowFunction = void (*)(const float* a, bool a_fixed, const float* b, bool b_fixed, float* y,
                             int64_t count);

template <typename F>
void apply_row(const float* a, bool a_fixed, const float* b, bool b_fixed, float* y,
               int64_t count) {
  const F f;
  if (a_fixed) {
    const float number = *a;
    for (int64_t i = 0; i < count; ++i) y[i] = f(number, b[i]);
  } else if (b_fixed) {
    const float number = *b;
    for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], number);
  } else {
    for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
  }
}

RowFunction row_function(std::string_view op) {
  if (op == "Add") return apply_row<RowPlus>;
  if (op == "Sub") return apply_row<RowMinus>;
  return op == "Mul" ? apply_row<RowTimes> : apply_row<RowOver>;
}

class RowBinary final : public Kernel {
 public:
  explicit RowBinary(const NodeView& node) : function_(row_function(node.op())) {
    const Shape& y = node.output_shape(0);
    for (size_t i = 0; i < 2; ++i) {
      const RowOperand operand = row_operand(node.input_shape(i), y);
      form_[i] = operand.form;
      row_ = std::max(row_, operand.row);
    }
    rows_ = y.num_elements() / row_;
  }

  void run(const KernelArgs& args) const override {
    parallel_for(rows_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* x[2];
        for (size_t i = 0; i < 2; ++i) {
          x[i] = args.inputs[i].as<float>();
          if (form_[i] == RowForm::kWhole) x[i] += row * row_;
          if (form_[i] == RowForm::kNumberPerRow) x[i] += row;
        }
        function_(x[0], form_[0] == RowForm::kNumberPerRow, x[1],
                  form_[1] == RowForm::kNumberPerRow, args.outputs[0].as<float>() + row * row_,
                  row_);
      }
    });
  }

 private:
  RowFunction function_;
  RowForm form_[2] = {RowForm::kWhole, RowForm::kWhole};
  int64_t row_ = 1;
  int64_t rows_ = 1;
};

std::optional<NodeLayouts> layouts_row_binary(const NodeView& node,
                                              std::span<const Layout> /*inputs*/) {
  const bool first = row_operand(node.input_shape(0), node.output_shape(0)).form == RowForm::kWhole;
  return NodeLayouts{
      .inputs = {Layout(), Layout()}, .outputs = {Layout()}, .in_place_input = first ? 0 : 1};
}

std::unique_ptr<Kernel> create_row_binary(const NodeView& node, const NodeLayouts& /*layouts*/) {
  return std::make_unique<RowBinary>(node);
}

constexpr KernelDef row_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_row_binary,
          .layouts = layouts_row_binary,
          .create_in = create_row_binary};
}

}  // namespace

extern const KernelDef kRowAdd = row_kernel("Add");
extern const KernelDef kRowDiv = row_kernel("Div");
extern const KernelDef kRowMul = row_kernel("Mul");
extern const KernelDef kRowSub = row_kernel("Sub");

}  // namespace trainyard::kernels::native
