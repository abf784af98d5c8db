// QuantizedAdd, QuantizedConcat, QuantizedTable and QuantizedAveragePool.
#include <algorithm>

#include "engine/kernels/reference/nn/window_walk.h"
#include "engine/kernels/reference/reference.h"
#include "ops/op_def.h"
#include "ops/quantize/quantized.h"

namespace trainyard::kernels::reference {
namespace {

// All kernels here compute in steps of the result: real values divided by its scale. A ratio is the
// input's scale divided by that of the result.
class QuantizedAdd final : public Kernel {
 public:
  explicit QuantizedAdd(const NodeView& node)
      : a_zero_(node.attr_int("a_zero", 0)),
        b_zero_(node.attr_int("b_zero", 0)),
        a_ratio_(node.attr_float("a_ratio", 1.0F)),
        b_ratio_(node.attr_float("b_ratio", 1.0F)),
        bytes_(ops::result_bytes(node)) {}

  void run(const KernelArgs& args) const override {
    for (int64_t i = 0; i < args.outputs[0].num_elements(); ++i) {
      const float a = static_cast<float>(args.inputs[0].as<uint8_t>()[i] - a_zero_) * a_ratio_;
      const float b = static_cast<float>(args.inputs[1].as<uint8_t>()[i] - b_zero_) * b_ratio_;
      args.outputs[0].as<uint8_t>()[i] = ops::to_byte(a + b, bytes_);
    }
  }

 private:
  int64_t a_zero_;
  int64_t b_zero_;
  float a_ratio_;
  float b_ratio_;
  ops::StepsToBytes bytes_;
};

class QuantizedConcat final : public Kernel {
 public:
  explicit QuantizedConcat(const NodeView& node)
      : zeros_(node.attr_ints("zeros", {})),
        ratios_(node.attr_floats("ratios", {})),
        bytes_{.zero = node.attr_int("y_zero", 0)} {
    const Shape& y = node.output_shape(0);
    const int64_t axis = normalize_axis(node.attr_int("axis", 0), y.rank(), node.op());
    // Row-major copies: `outer_` times a run of `parts_[i]` elements from each input.
    outer_ = y.num_elements(0, axis);
    whole_ = y.num_elements(axis, y.rank());
    for (size_t i = 0; i < node.num_inputs(); ++i) {
      parts_.push_back(node.input_shape(i).num_elements(axis, y.rank()));
    }
  }

  void run(const KernelArgs& args) const override {
    uint8_t* y = args.outputs[0].as<uint8_t>();
    int64_t begin = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      const uint8_t* x = args.inputs[i].as<uint8_t>();
      for (int64_t j = 0; j < outer_ * parts_[i]; ++j) {
        const float steps = static_cast<float>(x[j] - zeros_[i]) * ratios_[i];
        y[j / parts_[i] * whole_ + begin + j % parts_[i]] = ops::to_byte(steps, bytes_);
      }
      begin += parts_[i];
    }
  }

 private:
  std::vector<int64_t> zeros_;
  std::vector<float> ratios_;
  ops::StepsToBytes bytes_;
  int64_t outer_ = 1;
  int64_t whole_ = 1;
  std::vector<int64_t> parts_;
};

// A function of one byte, such as a sigmoid, with its 256 results precomputed.
class QuantizedTable final : public Kernel {
 public:
  explicit QuantizedTable(const NodeView& /*node*/) {}

  void run(const KernelArgs& args) const override {
    const uint8_t* x = args.inputs[0].as<uint8_t>();
    const uint8_t* table = args.inputs[1].as<uint8_t>();
    std::transform(x, x + args.inputs[0].num_elements(), args.outputs[0].as<uint8_t>(),
                   [&](uint8_t value) { return table[value]; });
  }
};

class QuantizedAveragePool final : public Kernel {
 public:
  explicit QuantizedAveragePool(const NodeView& node)
      : walk_(window_walk(node, *ops::op_of(node).window(node))),
        counts_padding_(node.attr_int("count_include_pad", 0) != 0),
        x_zero_(node.attr_int("x_zero", 0)),
        ratio_(node.attr_float("ratio", 1.0F)),
        bytes_(ops::result_bytes(node)) {}

  void run(const KernelArgs& args) const override {
    const Shape& shape = *args.inputs[0].shape;
    for (int64_t nc = 0; nc < shape[0] * shape[1]; ++nc) {
      const uint8_t* x = args.inputs[0].as<uint8_t>() + nc * walk_.input_size();
      for (int64_t position = 0; position < walk_.output_size(); ++position) {
        int64_t sum = 0;
        int64_t count = 0;
        walk_.for_each(position, [&](int64_t, int64_t at) {
          // Padding counts as zero, which is x_zero_ in bytes, so it adds nothing.
          sum += x[at] - x_zero_;
          ++count;
        });
        if (counts_padding_) count = walk_.count_with_padding(position);
        const float steps = static_cast<float>(sum) * (ratio_ / static_cast<float>(count));
        args.outputs[0].as<uint8_t>()[nc * walk_.output_size() + position] =
            ops::to_byte(steps, bytes_);
      }
    }
  }

 private:
  WindowWalk walk_;
  bool counts_padding_;
  int64_t x_zero_;
  float ratio_;
  ops::StepsToBytes bytes_;
};

}  // namespace

extern const KernelDef kQuantizedAdd = reference_kernel<QuantizedAdd>("QuantizedAdd");
extern const KernelDef kQuantizedConcat = reference_kernel<QuantizedConcat>("QuantizedConcat");
extern const KernelDef kQuantizedTable = reference_kernel<QuantizedTable>("QuantizedTable");
extern const KernelDef kQuantizedAveragePool =
    reference_kernel<QuantizedAveragePool>("QuantizedAveragePool");

}  // namespace trainyard::kernels::reference
