// NonMaxSuppression.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/kernels/api/kernel.h"
#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vision/suppression.h"

namespace trainyard::kernels::native {
namespace {

bool orders_all(const Tensor& scores) {
  const std::span<const float> values = scores.values<float>();
  return std::none_of(values.begin(), values.end(), [](float score) { return std::isnan(score); });
}

// Shapes that do not fit each other are for the operator's own inference to complain of.
std::string_view refuses_suppression(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  const Tensor* boxes = node.input_constant(0);
  const Tensor* scores = node.input_constant(1);
  if (boxes == nullptr || scores == nullptr) return "the boxes are not known before the run";
  if (boxes->dtype() != DType::kF32 || scores->dtype() != DType::kF32) return kOnlyF32;
  const Shape& shape = scores->shape();
  if (shape.rank() != 3 || boxes->shape() != Shape{shape[0], shape[2], 4}) {
    return "scores and boxes do not fit";
  }
  if (shape[2] > std::numeric_limits<uint32_t>::max()) return "too many boxes";
  const ops::SuppressionRules rules = ops::suppression_rules(node);
  if (rules.has_score) {
    const auto rounded = static_cast<double>(static_cast<float>(rules.score));
    return rounded == rules.score ? "" : "the least score is not an f32";
  }
  return orders_all(*scores) ? "" : "scores that are not numbers have no order";
}

std::vector<Tensor> make_suppression(const NodeView& node) {
  const auto kept = suppress_boxes(node.input_constant(0)->view(), node.input_constant(1)->view(),
                                   ops::suppression_rules(node));
  std::vector<Tensor> outputs;
  outputs.emplace_back(TensorType{DType::kI64, Shape{static_cast<int64_t>(kept.size()), 3}});
  auto* to = outputs[0].view().as<int64_t>();
  for (const auto& row : kept) to = std::copy(row.begin(), row.end(), to);
  return outputs;
}

}  // namespace

extern const KernelDef kNonMaxSuppression = {.op = "NonMaxSuppression",
                                             .library = "native",
                                             .refuses = refuses_suppression,
                                             .make_outputs = make_suppression};

}  // namespace trainyard::kernels::native
