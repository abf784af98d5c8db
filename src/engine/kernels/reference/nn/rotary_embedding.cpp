// RotaryEmbedding.
#include "ops/nn/rotary_embedding.h"

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

class RotaryEmbedding final : public Kernel {
 public:
  explicit RotaryEmbedding(const NodeView& node) : r_(ops::rotary_shape(node)) {}

  void run(const KernelArgs& args) const override {
    for (int64_t b = 0; b < r_.batch; ++b) {
      for (int64_t h = 0; h < r_.heads; ++h) {
        for (int64_t row = 0; row < r_.rows; ++row) turn_row(args, b, h, row);
      }
    }
  }

 private:
  void turn_row(const KernelArgs& args, int64_t b, int64_t h, int64_t row) const {
    const TensorView positions = input_or_none(args, 3);
    const int64_t pairs = r_.turned / 2;
    int64_t angle = (b * r_.rows + row) * pairs;
    if (positions.data != nullptr) {
      // One position for each row, or the first of each batch element.
      const bool all = positions.num_elements() == r_.batch * r_.rows;
      const int64_t at = all ? element_as_int(positions, b * r_.rows + row)
                             : element_as_int(positions, b % positions.num_elements()) + row;
      TY_REQUIRE(0 <= at && at < (*args.inputs[1].shape)[0],
                 "position {} is outside the tables of {} rows", at, (*args.inputs[1].shape)[0]);
      angle = at * pairs;
    }
    const int64_t begin = r_.strides.at(b, h, row);
    for (int64_t i = 0; i < pairs; ++i) {
      const int64_t first = begin + (r_.interleaved ? 2 * i : i);
      const int64_t second = r_.interleaved ? first + 1 : first + pairs;
      const double x = float_at(args.inputs[0], first);
      const double y = float_at(args.inputs[0], second);
      const double c = float_at(args.inputs[1], angle + i);
      const double s = float_at(args.inputs[2], angle + i);
      store_float(args.outputs[0], first, c * x - s * y);
      store_float(args.outputs[0], second, s * x + c * y);
    }
    for (int64_t i = r_.turned; i < r_.depth; ++i) {
      store_float(args.outputs[0], begin + i, float_at(args.inputs[0], begin + i));
    }
  }

  ops::RotaryShape r_;
};

}  // namespace

extern const KernelDef kRotaryEmbedding = reference_kernel<RotaryEmbedding>("RotaryEmbedding");

}  // namespace trainyard::kernels::reference
