// GatedExperts and GatedExpertsGrad, one expert of one row at a time.
#include "ops/nn/gated_experts.h"

#include <cmath>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"

namespace trainyard::kernels::reference {
namespace {

enum Operand : size_t { kX, kGate, kUp, kDown, kWeight, kDy };

// What one hidden number of an expert is made of.
struct Hidden {
  double gate = 0;
  double up = 0;
  double sigmoid() const { return 1 / (1 + std::exp(-gate)); }
  double swish() const { return gate * sigmoid(); }
  double swish_slope() const { return sigmoid() * (1 + gate * (1 - sigmoid())); }
};

class ExpertLoop {
 public:
  ExpertLoop(const ops::ExpertShape& shape, const KernelArgs& args) : s_(shape), args_(args) {}

  // Calls f(row, expert, weight) for what counts.
  template <typename F>
  void for_each(F&& f) const {
    for (int64_t row = 0; row < s_.rows; ++row) {
      for (int64_t expert = 0; expert < s_.experts; ++expert) {
        const double weight = at(kWeight, row * s_.experts + expert);
        if (weight != 0) f(row, expert, weight);
      }
    }
  }

  double at(Operand operand, int64_t i) const { return float_at(args_.inputs[operand], i); }
  double x(int64_t row, int64_t c) const { return at(kX, row * s_.hidden + c); }
  double dy(int64_t row, int64_t c) const { return at(kDy, row * s_.hidden + c); }
  // `j` counts over all experts.
  int64_t place(int64_t j, int64_t c) const { return j * s_.hidden + c; }
  int64_t place_down(int64_t j, int64_t c) const { return c * s_.experts * s_.inner + j; }

  Hidden hidden(int64_t row, int64_t j) const {
    Hidden sums;
    for (int64_t c = 0; c < s_.hidden; ++c) {
      sums.gate += x(row, c) * at(kGate, place(j, c));
      sums.up += x(row, c) * at(kUp, place(j, c));
    }
    return sums;
  }

 private:
  const ops::ExpertShape& s_;
  const KernelArgs& args_;
};

void store_all(const std::vector<double>& from, const TensorView& to) {
  for (size_t i = 0; i < from.size(); ++i) store_float(to, static_cast<int64_t>(i), from[i]);
}

class GatedExperts final : public Kernel {
 public:
  explicit GatedExperts(const NodeView& node) : s_(ops::expert_shape(node)) {}

  void run(const KernelArgs& args) const override {
    const ExpertLoop loop(s_, args);
    std::vector<double> y(static_cast<size_t>(s_.rows * s_.hidden), 0);
    loop.for_each([&](int64_t row, int64_t expert, double weight) {
      for (int64_t j = expert * s_.inner; j < (expert + 1) * s_.inner; ++j) {
        const Hidden hidden = loop.hidden(row, j);
        const double counted = hidden.swish() * hidden.up * weight;
        for (int64_t c = 0; c < s_.hidden; ++c) {
          y[static_cast<size_t>(row * s_.hidden + c)] +=
              counted * loop.at(kDown, loop.place_down(j, c));
        }
      }
    });
    store_all(y, args.outputs[0]);
  }

 private:
  ops::ExpertShape s_;
};

class GatedExpertsGrad final : public Kernel {
 public:
  explicit GatedExpertsGrad(const NodeView& node) : s_(ops::expert_shape(node)) {}

  void run(const KernelArgs& args) const override {
    const ExpertLoop loop(s_, args);
    std::vector<std::vector<double>> d;
    for (const TensorView& output : args.outputs) {
      d.emplace_back(static_cast<size_t>(output.num_elements()), 0);
    }
    loop.for_each([&](int64_t row, int64_t expert, double weight) {
      for (int64_t j = expert * s_.inner; j < (expert + 1) * s_.inner; ++j) {
        add(loop, row, expert, j, weight, d);
      }
    });
    for (size_t i = 0; i < d.size(); ++i) store_all(d[i], args.outputs[i]);
  }

 private:
  void add(const ExpertLoop& loop, int64_t row, int64_t expert, int64_t j, double weight,
           std::vector<std::vector<double>>& d) const {
    const Hidden hidden = loop.hidden(row, j);
    const double product = hidden.swish() * hidden.up;
    double into = 0;  // the gradient of product * weight
    for (int64_t c = 0; c < s_.hidden; ++c) {
      const auto at = static_cast<size_t>(loop.place_down(j, c));
      into += loop.dy(row, c) * loop.at(kDown, loop.place_down(j, c));
      d[kDown][at] += loop.dy(row, c) * product * weight;
    }
    d[kWeight][static_cast<size_t>(row * s_.experts + expert)] += into * product;
    const double d_gate = into * weight * hidden.up * hidden.swish_slope();
    const double d_up = into * weight * hidden.swish();
    for (int64_t c = 0; c < s_.hidden; ++c) {
      const int64_t place = loop.place(j, c);
      d[kX][static_cast<size_t>(row * s_.hidden + c)] +=
          d_gate * loop.at(kGate, place) + d_up * loop.at(kUp, place);
      d[kGate][static_cast<size_t>(place)] += d_gate * loop.x(row, c);
      d[kUp][static_cast<size_t>(place)] += d_up * loop.x(row, c);
    }
  }

  ops::ExpertShape s_;
};

}  // namespace

extern const KernelDef kGatedExperts = reference_kernel<GatedExperts>("GatedExperts");
extern const KernelDef kGatedExpertsGrad = reference_kernel<GatedExpertsGrad>("GatedExpertsGrad");

}  // namespace trainyard::kernels::reference
