#include "cluster/predict/measured.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace trainyard::predict {
namespace {

constexpr double kElement = 4;  // the engine computes in single precision
// Channels lie in blocks of this many; fewer than one block of them is a stem or depthwise.
constexpr double kBlock = 8;
// The engine's rule for minimal filtering (kernels/native/winograd.h).
constexpr double kWinogradChannels = 16;
constexpr double kWinogradSide = 4;
constexpr double kLargeImage = 96;
constexpr double kManyTiles = 12;

double blocked(double channels) {
  return kBlock * std::ceil(channels / kBlock);
}

struct Winograd {
  double points = 0;  // multiplications per tile and pair of channels
  double tiles = 0;
};

// Tiles of minimal filtering for `op`, none where it is not used.
std::optional<Winograd> winograd(const OpProfile& op, double batch, bool training) {
  const double channels = op.inner / static_cast<double>(op.kernel_h * op.kernel_w);
  const double side = std::min(op.output_h, op.output_w);
  const bool square = op.kernel_h == op.kernel_w && (op.kernel_h == 3 || op.kernel_h == 5);
  if (!square || op.stride != 1 || op.groups != 1) return std::nullopt;
  if (std::min(channels, op.columns) < kWinogradChannels || side < kWinogradSide) {
    return std::nullopt;
  }
  const auto tiles = [&](double edge) {
    return batch * std::ceil(op.output_h / edge) * std::ceil(op.output_w / edge);
  };
  double edge = 4;
  if (op.kernel_h == 3 && side >= kLargeImage) edge = 6;
  if (op.kernel_h == 3 && side < kLargeImage && tiles(edge) < kManyTiles) {
    if (training) return std::nullopt;
    edge = 2;
  }
  const double span = edge + static_cast<double>(op.kernel_h) - 1;
  return Winograd{span * span, tiles(edge)};
}

// One pass of a product and the family it belongs to.
Term product_term(const OpProfile& op, double batch, Pass pass) {
  Term term{.family = Family::kConv, .pass = pass};
  const double area = static_cast<double>(op.kernel_h * op.kernel_w);
  const double channels = op.inner / area;
  double flops = 2 * op.rows * batch * area * blocked(channels) * blocked(op.columns) * op.groups;
  double weights = op.weights;
  if (!op.is_conv) {
    term.family = Family::kGemm;
    flops = 2 * op.macs * batch;
  } else if (op.groups > 1 && op.columns < kBlock) {
    term.family = Family::kDepthwise;
    flops = 2 * op.macs * batch;
    weights = 0;  // too few to matter, here and in stems
  } else if (op.groups == 1 && channels < kBlock) {
    term.family = Family::kStem;
    flops = 2 * op.rows * batch * op.inner * blocked(op.columns);
    weights = 0;
  } else if (area == 1) {
    term.family = Family::kPoint;
  } else if (const auto tiles = winograd(op, batch, pass != Pass::kInference)) {
    term.family = Family::kWinograd;
    const double pairs = blocked(channels) * blocked(op.columns);
    flops = 2 * tiles->points * tiles->tiles * pairs;
    weights = tiles->points * pairs;
  }
  // A stride over points leaves most of the input unread.
  const double input = area == 1 && op.is_conv ? op.rows * channels * op.groups : op.input;
  term.flops = flops;
  term.bytes = (input + op.output) * batch * kElement;
  term.weights = weights * kElement;
  return term;
}

Family after(const OpProfile& op, Family alone, Family product, Family norm) {
  if (op.chain == Chain::kProduct) return product;
  return op.chain == Chain::kNorm ? norm : alone;
}

Family traffic_family(const OpProfile& op) {
  if (op.op == "BatchNormalization") {
    return after(op, Family::kNorm, Family::kNormAfterProduct, Family::kNorm);
  }
  if (op.op == "LRN") return Family::kResponseNorm;
  if (op.op == "Concat") return Family::kConcat;
  if (op.op == "MaxPool") return Family::kMaxPool;
  if (op.kind == "pooling") return Family::kAveragePool;
  if (op.kind == "activation") {
    return after(op, Family::kActivation, Family::kActivationAfterProduct,
                 Family::kActivationAfterNorm);
  }
  if (op.kind == "elementwise") {
    return after(op, Family::kElementwise, Family::kElementwiseAfterProduct,
                 Family::kElementwiseAfterNorm);
  }
  return Family::kOther;
}

// Only windows cost arithmetic that is not in proportion to the elements.
Term traffic_term(const OpProfile& op, double batch, Pass pass) {
  const double flops = op.kind == "pooling" ? op.flops * batch : 0;
  return {traffic_family(op), pass, flops, (op.input + op.output) * batch * kElement};
}

void add_backward(const OpProfile& op, double batch, std::vector<Term>& terms) {
  if (op.uses > 1 && (op.data_gradient || op.weights > 0)) {
    const Family family = op.chain == Chain::kNorm ? Family::kForksAfterNorm : Family::kForks;
    terms.push_back({family, Pass::kData, 0, (op.uses + 1) * op.output * batch * kElement});
  }
  if (op.work != Work::kProduct) {
    if (op.data_gradient) terms.push_back(traffic_term(op, batch, Pass::kData));
    return;
  }
  if (!op.is_conv) {
    Term both = product_term(op, batch, Pass::kData);
    if (op.data_gradient) {
      for (double* amount : {&both.flops, &both.bytes, &both.weights}) *amount *= 2;
    }
    terms.push_back(both);
  } else {
    if (op.data_gradient) terms.push_back(product_term(op, batch, Pass::kData));
    terms.push_back(product_term(op, batch, Pass::kWeights));
  }
  if (op.has_bias) {
    terms.push_back({Family::kBias, Pass::kWeights, 0, op.output * batch * kElement});
  }
}

}  // namespace

std::string_view family_name(Family family) {
  static constexpr std::array<std::string_view, kFamilies> kNames = {"stem",
                                                                     "point",
                                                                     "winograd",
                                                                     "conv",
                                                                     "depthwise",
                                                                     "gemm",
                                                                     "norm",
                                                                     "norm_after_product",
                                                                     "activation",
                                                                     "activation_after_product",
                                                                     "activation_after_norm",
                                                                     "elementwise",
                                                                     "elementwise_after_product",
                                                                     "elementwise_after_norm",
                                                                     "max_pool",
                                                                     "average_pool",
                                                                     "response_norm",
                                                                     "concat",
                                                                     "other",
                                                                     "bias",
                                                                     "forks",
                                                                     "forks_after_norm",
                                                                     "update"};
  return kNames[static_cast<size_t>(family)];
}

std::string_view pass_name(Pass pass) {
  static constexpr std::array<std::string_view, kPasses> kNames = {"inference", "forward", "data",
                                                                   "weights"};
  return kNames[static_cast<size_t>(pass)];
}

Amounts Term::amounts(double cache_bytes) const {
  const double far =
      bytes > 0 ? std::clamp(std::log2(bytes / cache_bytes) / 2 + 0.5, 0.0, 1.0) : 0.0;
  return {flops, bytes, bytes * far, weights, kernels};
}

double MeasuredCosts::time(const Term& term) const {
  const Amounts& rates = of(term.family, term.pass);
  const Amounts amounts = term.amounts(cache_bytes);
  double sum = 0;
  for (size_t i = 0; i < kAmounts; ++i) sum += rates[i] * amounts[i];
  return sum;
}

std::vector<Term> operator_terms(const OpProfile& op, double batch, Phase phase) {
  std::vector<Term> terms;
  if (phase == Phase::kBackward) {
    add_backward(op, batch, terms);
    return terms;
  }
  const Pass pass = phase == Phase::kInference ? Pass::kInference : Pass::kForward;
  terms.push_back(op.work == Work::kProduct ? product_term(op, batch, pass)
                                            : traffic_term(op, batch, pass));
  return terms;
}

Term update_term(double parameters) {
  // Weight, gradient and momentum in; weight and momentum out.
  return {Family::kUpdate, Pass::kData, 0, 5 * parameters * kElement};
}

}  // namespace trainyard::predict
