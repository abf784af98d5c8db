// MatMul.
#include "engine/kernels/reference/math/matmul.h"

#include "engine/kernels/reference/layout/indexing.h"
#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

Shape batch_dims(const Shape& shape) {
  if (shape.rank() <= 2) return {};
  return Shape(shape.dims().first(static_cast<size_t>(shape.rank() - 2)));
}

// For each index of `to`, the flat index in `from` it is stretched from.
std::vector<int64_t> stretched_indices(const Shape& from, const Shape& to) {
  const std::vector<int64_t> strides = broadcast_strides(from, to);
  std::vector<int64_t> indices(static_cast<size_t>(to.num_elements()));
  for (size_t i = 0; i < indices.size(); ++i) {
    indices[i] = strided_offset(static_cast<int64_t>(i), to.dims(), strides);
  }
  return indices;
}

class MatMul final : public Kernel {
 public:
  explicit MatMul(const NodeView& node) : sizes_(node.input_shape(0), node.input_shape(1)) {}

  void run(const KernelArgs& args) const override {
    for_one_of<float, double, F16, BF16, int32_t, int64_t, uint32_t, uint64_t>(
        args.inputs[0].dtype, "MatMul", [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  template <typename T>
  void run_as(const KernelArgs& args) const {
    const T* a = args.inputs[0].as<T>();
    const T* b = args.inputs[1].as<T>();
    T* y = args.outputs[0].as<T>();
    sizes_.multiply<Sum<T>>(
        [&](int64_t i, int64_t) { return static_cast<Sum<T>>(a[i]); },
        [&](int64_t i, int64_t) { return static_cast<Sum<T>>(b[i]); },
        [&](int64_t i, int64_t, int64_t, Sum<T> sum) { y[i] = static_cast<T>(sum); });
  }

  MatMulSizes sizes_;
};

}  // namespace

MatMulSizes::MatMulSizes(const Shape& a, const Shape& b)
    : m_(a.rank() >= 2 ? a.dim(-2) : 1), k_(a.dim(-1)), n_(b.rank() >= 2 ? b.dim(-1) : 1) {
  const Shape batch = broadcast_shapes(batch_dims(a), batch_dims(b));
  a_batches_ = stretched_indices(batch_dims(a), batch);
  b_batches_ = stretched_indices(batch_dims(b), batch);
}

extern const KernelDef kMatMul = reference_kernel<MatMul>("MatMul");

}  // namespace trainyard::kernels::reference
