// MineNegatives: an image at a time.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/integers.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

constexpr int64_t kNotCounted = -1;

class MineNegatives final : public Kernel {
 public:
  explicit MineNegatives(const NodeView& node)
      : images_(node.input_shape(0)[0]),
        priors_(node.input_shape(0)[1]),
        classes_(node.input_shape(0)[2]),
        ratio_(static_cast<double>(node.attr_float("ratio", 3))) {}

  void run(const KernelArgs& args) const override {
    for (int64_t i = 0; i < images_; ++i) {
      mine(args.inputs[0].as<float>() + i * priors_ * classes_,
           args.inputs[1].as<int64_t>() + i * priors_, args.outputs[0].as<int64_t>() + i * priors_);
    }
  }

 private:
  void mine(const float* scores, const int64_t* labels, int64_t* counted) const {
    const auto positives =
        std::count_if(labels, labels + priors_, [](int64_t label) { return label > 0; });
    std::vector<int64_t> negatives;
    for (int64_t p = 0; p < priors_; ++p) {
      counted[p] = labels[p] > 0 ? labels[p] : kNotCounted;
      if (labels[p] == 0) negatives.push_back(p);
    }
    const auto most = within_range<int64_t>(ratio_ * static_cast<double>(positives));
    const auto wanted = std::min(most, static_cast<int64_t>(negatives.size()));
    if (wanted <= 0) return;
    std::vector<double> losses(static_cast<size_t>(priors_));
    for (const int64_t p : negatives) {
      losses[static_cast<size_t>(p)] = background_loss(scores + p * classes_);
    }
    // Of equal losses the first prior comes first.
    const auto harder = [&](int64_t a, int64_t b) {
      const double x = losses[static_cast<size_t>(a)];
      const double y = losses[static_cast<size_t>(b)];
      return x > y || (x == y && a < b);
    };
    std::nth_element(negatives.begin(), negatives.begin() + (wanted - 1), negatives.end(), harder);
    for (int64_t i = 0; i < wanted; ++i) counted[negatives[static_cast<size_t>(i)]] = 0;
  }

  // -log softmax(scores)[0]. Scores that are no numbers come last, whatever the order does.
  double background_loss(const float* scores) const {
    const double largest = static_cast<double>(*std::max_element(scores, scores + classes_));
    double sum = 0;
    for (int64_t c = 0; c < classes_; ++c) {
      sum += std::exp(static_cast<double>(scores[c]) - largest);
    }
    const double loss = std::log(sum) + largest - static_cast<double>(scores[0]);
    return std::isnan(loss) ? -1 : loss;
  }

  int64_t images_;
  int64_t priors_;
  int64_t classes_;
  double ratio_;
};

}  // namespace

extern const KernelDef kMineNegatives = reference_kernel<MineNegatives>("MineNegatives");

}  // namespace trainyard::kernels::reference
