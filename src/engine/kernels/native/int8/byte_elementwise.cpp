// QuantizedAdd, QuantizedConcat and QuantizedTable.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/int8/byte_layout.h"
#include "engine/kernels/native/int8/byte_math.h"
#include "engine/kernels/native/parallel.h"

namespace trainyard::kernels::native {
namespace {

// Runs per thread; below this, one thread is as fast.
constexpr int64_t kLeastBytes = 4096;

std::string_view refuses_bytes(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.output_shape(0).num_elements() == 0) return "the output is empty";
  return "";
}

// Every image channels last, whatever is offered: all that works on bytes does so.
std::optional<NodeLayouts> layouts_bytes(const NodeView& node, std::span<const Layout> inputs) {
  NodeLayouts wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    wanted.inputs.push_back(channels_last(node.input_shape(i)));
  }
  wanted.outputs = {channels_last(node.output_shape(0))};
  return wanted;
}

// Calls f(first, count) with parts of whole multiples of kLeastBytes but the last.
template <typename F>
void over_parts(int64_t count, const F& f) {
  const int64_t parts = (count + kLeastBytes - 1) / kLeastBytes;
  parallel_for(parts, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * kLeastBytes;
    f(first, std::min(count, end * kLeastBytes) - first);
  });
}

// All steps are in f32 in the order of the reference kernel, so that the bytes agree with its.
class ByteAdd final : public Kernel {
 public:
  explicit ByteAdd(const NodeView& node)
      : a_zero_(static_cast<float>(node.attr_int("a_zero", 0))),
        b_zero_(static_cast<float>(node.attr_int("b_zero", 0))),
        a_ratio_(node.attr_float("a_ratio", 1.0F)),
        b_ratio_(node.attr_float("b_ratio", 1.0F)),
        bytes_(ops::result_bytes(node)) {}

  void run(const KernelArgs& args) const override {
    over_parts(args.outputs[0].num_elements(), [&](int64_t first, int64_t count) {
      add(args.inputs[0].as<uint8_t>() + first, args.inputs[1].as<uint8_t>() + first, count,
          args.outputs[0].as<uint8_t>() + first);
    });
  }

 private:
  void add(const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* y) const {
    const auto vector = [&](int64_t i) {
      const __m256 left =
          _mm256_mul_ps(_mm256_sub_ps(load_eight_bytes(a + i), _mm256_set1_ps(a_zero_)),
                        _mm256_set1_ps(a_ratio_));
      const __m256 right =
          _mm256_mul_ps(_mm256_sub_ps(load_eight_bytes(b + i), _mm256_set1_ps(b_zero_)),
                        _mm256_set1_ps(b_ratio_));
      return _mm256_add_ps(left, right);
    };
    const auto one = [&](int64_t i) {
      const float left = (static_cast<float>(a[i]) - a_zero_) * a_ratio_;
      const float right = (static_cast<float>(b[i]) - b_zero_) * b_ratio_;
      return left + right;
    };
    store_steps(count, bytes_, y, vector, one);
  }

  float a_zero_;
  float b_zero_;
  float a_ratio_;
  float b_ratio_;
  ops::StepsToBytes bytes_;
};

class ByteConcat final : public Kernel {
 public:
  explicit ByteConcat(const NodeView& node)
      : zeros_(node.attr_ints("zeros", {})),
        ratios_(node.attr_floats("ratios", {})),
        bytes_{.zero = node.attr_int("y_zero", 0)} {
    const Shape y = in_memory(node.output_shape(0));
    int64_t axis = normalize_axis(node.attr_int("axis", 0), y.rank(), node.op());
    // Axes of NCHW as they lie in memory: channels come last, height and width move up.
    if (y.rank() == 4 && axis > 0) axis = axis == 1 ? 3 : axis - 1;
    outer_ = y.num_elements(0, axis);
    whole_ = y.num_elements(axis, y.rank());
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      parts_.push_back(in_memory(node.input_shape(i)).num_elements(axis, y.rank()));
    }
  }

  void run(const KernelArgs& args) const override {
    // Short lines are shared out by many.
    parallel_for(outer_, [&](int64_t begin, int64_t end) {
      int64_t at = 0;
      for (size_t i = 0; i < parts_.size(); ++i) {
        const uint8_t* x = args.inputs[i].as<uint8_t>();
        uint8_t* y = args.outputs[0].as<uint8_t>() + at;
        for (int64_t line = begin; line < end; ++line) {
          copy(i, x + line * parts_[i], y + line * whole_);
        }
        at += parts_[i];
      }
    });
  }

 private:
  static Shape in_memory(const Shape& shape) {
    if (shape.rank() != 4) return shape;
    return {shape[0], shape[2], shape[3], shape[1]};
  }

  void copy(size_t part, const uint8_t* x, uint8_t* y) const {
    // The same scale and zero: the bytes stay as they are, which is the usual case.
    if (ratios_[part] == 1.0F && zeros_[part] == bytes_.zero) {
      std::memcpy(y, x, static_cast<size_t>(parts_[part]));
      return;
    }
    const auto zero = static_cast<float>(zeros_[part]);
    const float ratio = ratios_[part];
    store_steps(
        parts_[part], bytes_, y,
        [&](int64_t i) {
          return _mm256_mul_ps(_mm256_sub_ps(load_eight_bytes(x + i), _mm256_set1_ps(zero)),
                               _mm256_set1_ps(ratio));
        },
        [&](int64_t i) { return (static_cast<float>(x[i]) - zero) * ratio; });
  }

  std::vector<int64_t> zeros_;
  std::vector<float> ratios_;
  ops::StepsToBytes bytes_;
  int64_t outer_ = 1;
  int64_t whole_ = 1;
  std::vector<int64_t> parts_;
};

class ByteTable final : public Kernel {
 public:
  explicit ByteTable(const NodeView& /*node*/) {}

  void run(const KernelArgs& args) const override {
    const uint8_t* x = args.inputs[0].as<uint8_t>();
    const uint8_t* table = args.inputs[1].as<uint8_t>();
    uint8_t* y = args.outputs[0].as<uint8_t>();
    over_parts(args.outputs[0].num_elements(), [&](int64_t first, int64_t count) {
      for (int64_t i = first; i < first + count; ++i) y[i] = table[x[i]];
    });
  }
};

template <typename K>
constexpr KernelDef byte_kernel(std::string_view op) {
  return {.op = op,
          .library = "native",
          .refuses = refuses_bytes,
          .layouts = layouts_bytes,
          .create_in = [](const NodeView& node, const NodeLayouts&) -> std::unique_ptr<Kernel> {
            return std::make_unique<K>(node);
          }};
}

}  // namespace

extern const KernelDef kQuantizedAdd = byte_kernel<ByteAdd>("QuantizedAdd");
extern const KernelDef kQuantizedConcat = byte_kernel<ByteConcat>("QuantizedConcat");
extern const KernelDef kQuantizedTable = byte_kernel<ByteTable>("QuantizedTable");

}  // namespace trainyard::kernels::native
