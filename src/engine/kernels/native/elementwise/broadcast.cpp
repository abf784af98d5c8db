// Operators of two elements, and Where, of tensors that are stretched in any way, row-major: what
// the kernels for one number per channel or row do not take.
#include <cmath>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/elementwise/broadcast_walk.h"

namespace trainyard::kernels::native {
namespace {

struct BroadcastPlus {
  float operator()(float a, float b) const { return a + b; }
  // Wraps.
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
};
struct BroadcastMinus {
  float operator()(float a, float b) const { return a - b; }
  // Wraps.
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
  }
};
struct BroadcastTimes {
  float operator()(float a, float b) const { return a * b; }
  // Wraps.
  int64_t operator()(int64_t a, int64_t b) const {
    return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  }
};
struct BroadcastOver {
  float operator()(float a, float b) const { return a / b; }
};
struct BroadcastPower {
  float operator()(float a, float b) const { return std::pow(a, b); }
};
struct BroadcastSlope {
  float operator()(float x, float slope) const { return x < 0 ? x * slope : x; }
};
struct BroadcastLarger {
  float operator()(float a, float b) const { return a > b || std::isnan(a) ? a : b; }
};
struct BroadcastSmaller {
  float operator()(float a, float b) const { return a < b || std::isnan(a) ? a : b; }
};
struct BroadcastEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a == b;
  }
};
struct BroadcastLess {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};
struct BroadcastGreater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct BroadcastLessOrEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct BroadcastGreaterOrEqual {
  template <typename T>
  bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct BroadcastAnd {
  bool operator()(bool a, bool b) const { return a && b; }
};
struct BroadcastOr {
  bool operator()(bool a, bool b) const { return a || b; }
};

using BroadcastFunction = void (*)(const KernelArgs&, const BroadcastWalk&);

template <typename T, typename R, typename F>
void broadcast_two(const KernelArgs& args, const BroadcastWalk& walk) {
  const auto* left = args.inputs[0].as<const T>();
  const auto* right = args.inputs[1].as<const T>();
  auto* result = args.outputs[0].as<R>();
  walk.for_each([&](const BroadcastWalk::Offsets& at, int64_t first, int64_t count) {
    const F f;
    const T* a = left + at[0];
    const T* b = right + at[1];
    R* y = result + first;
    if (walk.moves(0) && walk.moves(1)) {
      for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], b[i]);
    } else if (walk.moves(0)) {
      const T fixed = *b;
      for (int64_t i = 0; i < count; ++i) y[i] = f(a[i], fixed);
    } else {
      const T fixed = *a;
      if (walk.moves(1)) {
        for (int64_t i = 0; i < count; ++i) y[i] = f(fixed, b[i]);
      } else {
        std::fill_n(y, count, f(fixed, *b));
      }
    }
  });
}

// By the size of an element: what it means does not matter.
template <typename T>
void broadcast_choice(const KernelArgs& args, const BroadcastWalk& walk) {
  const auto* condition = args.inputs[0].as<const bool>();
  const auto* yes = args.inputs[1].as<const T>();
  const auto* no = args.inputs[2].as<const T>();
  auto* result = args.outputs[0].as<T>();
  const int64_t steps[kMostOperands] = {walk.moves(0), walk.moves(1), walk.moves(2)};
  walk.for_each([&](const BroadcastWalk::Offsets& at, int64_t first, int64_t count) {
    const bool* c = condition + at[0];
    const T* a = yes + at[1];
    const T* b = no + at[2];
    T* y = result + first;
    if (steps[0] == 0) {
      const T* from = *c ? a : b;
      const int64_t step = steps[*c ? 1 : 2];
      for (int64_t i = 0; i < count; ++i) y[i] = from[i * step];
    } else if (steps[1] != 0 && steps[2] == 0) {
      const T fixed = *b;
      for (int64_t i = 0; i < count; ++i) y[i] = c[i] ? a[i] : fixed;
    } else if (steps[1] == 0 && steps[2] != 0) {
      const T fixed = *a;
      for (int64_t i = 0; i < count; ++i) y[i] = c[i] ? fixed : b[i];
    } else {
      for (int64_t i = 0; i < count; ++i) y[i] = c[i] ? a[i * steps[1]] : b[i * steps[2]];
    }
  });
}

struct BroadcastRow {
  std::string_view op;
  DType dtype;
  BroadcastFunction function;
};

template <typename T, typename F>
constexpr BroadcastRow arithmetic_row(std::string_view op) {
  return {op, DTypeOf<T>::kValue, broadcast_two<T, T, F>};
}
template <typename T, typename F>
constexpr BroadcastRow comparison_row(std::string_view op) {
  return {op, DTypeOf<T>::kValue, broadcast_two<T, bool, F>};
}

constexpr BroadcastRow kBroadcastRows[] = {
    arithmetic_row<float, BroadcastPlus>("Add"),
    arithmetic_row<int64_t, BroadcastPlus>("Add"),
    arithmetic_row<float, BroadcastMinus>("Sub"),
    arithmetic_row<int64_t, BroadcastMinus>("Sub"),
    arithmetic_row<float, BroadcastTimes>("Mul"),
    arithmetic_row<int64_t, BroadcastTimes>("Mul"),
    arithmetic_row<float, BroadcastOver>("Div"),
    arithmetic_row<float, BroadcastLarger>("Max"),
    arithmetic_row<float, BroadcastSmaller>("Min"),
    arithmetic_row<float, BroadcastPower>("Pow"),
    arithmetic_row<float, BroadcastSlope>("PRelu"),
    arithmetic_row<bool, BroadcastAnd>("And"),
    arithmetic_row<bool, BroadcastOr>("Or"),
    comparison_row<float, BroadcastEqual>("Equal"),
    comparison_row<int64_t, BroadcastEqual>("Equal"),
    comparison_row<float, BroadcastLess>("Less"),
    comparison_row<int64_t, BroadcastLess>("Less"),
    comparison_row<float, BroadcastGreater>("Greater"),
    comparison_row<int64_t, BroadcastGreater>("Greater"),
    comparison_row<float, BroadcastLessOrEqual>("LessOrEqual"),
    comparison_row<int64_t, BroadcastLessOrEqual>("LessOrEqual"),
    comparison_row<float, BroadcastGreaterOrEqual>("GreaterOrEqual"),
    comparison_row<int64_t, BroadcastGreaterOrEqual>("GreaterOrEqual"),
};

BroadcastFunction choice_of(DType dtype) {
  if (dtype == DType::kText) return nullptr;
  switch (dtype_size(dtype)) {
    case 1:
      return broadcast_choice<uint8_t>;
    case 2:
      return broadcast_choice<uint16_t>;
    case 4:
      return broadcast_choice<uint32_t>;
    default:
      return broadcast_choice<uint64_t>;
  }
}

// Null: there is none.
BroadcastFunction broadcast_function(const NodeView& node) {
  if (node.op() == "Where") return choice_of(node.input_type(1).dtype);
  for (const BroadcastRow& row : kBroadcastRows) {
    if (row.op == node.op() && row.dtype == node.input_type(0).dtype &&
        row.dtype == node.input_type(1).dtype) {
      return row.function;
    }
  }
  return nullptr;
}

std::string_view refuses_broadcast(const NodeView& node) {
  if (node.num_inputs() != (node.op() == "Where" ? 3 : 2))
    return "only two operands are implemented";
  if (broadcast_function(node) == nullptr) return "elements of this type are not implemented";
  if (node.output_shape(0).num_elements() == 0) return "the result is empty";
  return "";
}

BroadcastWalk walk_of(const NodeView& node) {
  std::vector<const Shape*> shapes;
  for (size_t i = 0; i < node.num_inputs(); ++i) shapes.push_back(&node.input_shape(i));
  return {node.output_shape(0), shapes};
}

class Broadcast final : public Kernel {
 public:
  explicit Broadcast(const NodeView& node)
      : walk_(walk_of(node)), function_(broadcast_function(node)) {}

  void run(const KernelArgs& args) const override { function_(args, walk_); }

 private:
  BroadcastWalk walk_;
  BroadcastFunction function_;
};

constexpr KernelDef broadcast_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_broadcast,
          .create = [](const NodeView& node) -> std::unique_ptr<Kernel> {
            return std::make_unique<Broadcast>(node);
          }};
}

}  // namespace

#define BROADCAST(name) extern const KernelDef kBroadcast##name = broadcast_kernel(#name);
BROADCAST(Add)
BROADCAST(And)
BROADCAST(Div)
BROADCAST(Equal)
BROADCAST(Greater)
BROADCAST(GreaterOrEqual)
BROADCAST(Less)
BROADCAST(LessOrEqual)
BROADCAST(Max)
BROADCAST(Min)
BROADCAST(Mul)
BROADCAST(Or)
BROADCAST(PRelu)
BROADCAST(Pow)
BROADCAST(Sub)
BROADCAST(Where)
#undef BROADCAST

}  // namespace trainyard::kernels::native
