// MeanVarianceNormalization over any set of axes.
#include <cmath>

#include "engine/kernels/reference/layout/indexing.h"
#include "engine/kernels/reference/nn/moments.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

// Part of the operator's definition.
constexpr double kEpsilon = 1e-9;

class MeanVarianceNormalization final : public Kernel {
 public:
  explicit MeanVarianceNormalization(const NodeView& node) {
    const Shape& x = node.input_shape(0);
    const std::vector<int64_t> strides = x.strides();
    std::vector<bool> reduced(strides.size(), false);
    for (const int64_t axis : node.attr_ints("axes", {0, 2, 3})) {
      reduced[static_cast<size_t>(normalize_axis(axis, x.rank(), node.op()))] = true;
    }
    for (size_t d = 0; d < strides.size(); ++d) {
      Block& block = reduced[d] ? group_ : groups_;
      block.dims.push_back(x[static_cast<int64_t>(d)]);
      block.strides.push_back(strides[d]);
    }
  }

  void run(const KernelArgs& args) const override {
    for_float_type(args.inputs[0].dtype, [&]<typename T>(T) { run_as<T>(args); });
  }

 private:
  // Some dimensions of X.
  struct Block {
    std::vector<int64_t> dims;
    std::vector<int64_t> strides;

    int64_t size() const { return Shape(dims).num_elements(); }
    int64_t offset(int64_t i) const { return strided_offset(i, dims, strides); }
  };

  template <typename T>
  void run_as(const KernelArgs& args) const {
    const int64_t count = group_.size();
    const int64_t groups = groups_.size();
    for (int64_t g = 0; g < groups; ++g) {
      const T* x = args.inputs[0].as<T>() + groups_.offset(g);
      T* y = args.outputs[0].as<T>() + groups_.offset(g);
      const Moments moments =
          moments_of(count, [&](int64_t i) { return static_cast<double>(x[group_.offset(i)]); });
      const double deviation = std::sqrt(moments.variance) + kEpsilon;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t at = group_.offset(i);
        y[at] = static_cast<T>((static_cast<double>(x[at]) - moments.mean) / deviation);
      }
    }
  }

  Block group_;   // the dimensions statistics are taken over
  Block groups_;  // the others
};

}  // namespace

extern const KernelDef kMeanVarianceNormalization =
    reference_kernel<MeanVarianceNormalization>("MeanVarianceNormalization");

}  // namespace trainyard::kernels::reference
