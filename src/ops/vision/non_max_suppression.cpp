// NonMaxSuppression: of boxes that overlap, keeps the one with the highest score, class by class.
#include "ops/vision/non_max_suppression.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kNonMaxSuppressionAttributes[] = {{"center_point_box", AttrKind::kInt}};
constexpr size_t kMostPerClass = 2;
constexpr size_t kOverlap = 3;
constexpr size_t kScore = 4;

struct Corners {
  double x1, y1, x2, y2;

  double area() const { return (x2 - x1) * (y2 - y1); }
};

// The two corners come in any order, as y1, x1, y2, x2.
Corners corners(const float* box, bool centers) {
  const double a = box[0];
  const double b = box[1];
  const double c = box[2];
  const double d = box[3];
  if (centers) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  return {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c)};
}

double intersection_over_union(const Corners& a, const Corners& b) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const double shared = width * height;
  return shared / (a.area() + b.area() - shared);
}

// The boxes kept of one class, best first.
std::vector<int64_t> select_of_class(const float* boxes, const float* scores, int64_t count,
                                     const SuppressionRules& rules) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (rules.has_score) std::erase_if(order, [&](int64_t i) { return !(scores[i] > rules.score); });
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t i, int64_t j) { return scores[i] > scores[j]; });
  std::vector<int64_t> kept;
  for (const int64_t i : order) {
    if (static_cast<int64_t>(kept.size()) >= rules.most_per_class) break;
    const Corners box = corners(boxes + 4 * i, rules.centers);
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](int64_t j) {
      return intersection_over_union(box, corners(boxes + 4 * j, rules.centers)) > rules.overlap;
    });
    if (!covered) kept.push_back(i);
  }
  return kept;
}

std::vector<TensorType> infer_non_max_suppression(const NodeView& node) {
  const TensorType& boxes = node.input_type(0);
  const TensorType& scores = node.input_type(1);
  TY_REQUIRE(boxes.shape.rank() == 3 && boxes.shape[2] == 4,
             "boxes have shape {}, expected batch x boxes x 4", boxes.shape.to_string());
  TY_REQUIRE(scores.shape.rank() == 3 && scores.shape[0] == boxes.shape[0] &&
                 scores.shape[2] == boxes.shape[1],
             "scores have shape {}, expected batch x classes x boxes for boxes of {}",
             scores.shape.to_string(), boxes.shape.to_string());
  TY_REQUIRE(boxes.dtype == DType::kF32 && scores.dtype == DType::kF32,
             "boxes and scores are {} and {}, expected f32", dtype_name(boxes.dtype),
             dtype_name(scores.dtype));
  for (size_t i = kMostPerClass; i <= kScore; ++i) {
    TY_REQUIRE(!node.has_input(i) || node.input_shape(i).num_elements() == 1,
               "input {} has shape {}, expected one number", i, node.input_shape(i).to_string());
  }
  if (!all_inputs_constant(node)) return {{DType::kI64, {Shape::kUnknown, 3}}};
  const auto kept = select_boxes(node.input_constant(0)->view(), node.input_constant(1)->view(),
                                 suppression_rules(node));
  return {{DType::kI64, {static_cast<int64_t>(kept.size()), 3}}};
}

// What the data decides is not known; counted are the ten FLOPs of comparing each box with one
// other, for each class.
Cost cost_non_max_suppression(const NodeView& node) {
  constexpr int64_t kFlopsPerPair = 10;
  Cost cost = traffic(node);
  cost.flops = kFlopsPerPair * node.input_shape(1).num_elements();
  return cost;
}

}  // namespace

SuppressionRules suppression_rules(const NodeView& node) {
  const auto number = [&](size_t input) {
    const Tensor* value = node.has_input(input) ? node.input_constant(input) : nullptr;
    return value != nullptr ? element_as_double(*value, 0) : 0.0;
  };
  return {.most_per_class = static_cast<int64_t>(number(kMostPerClass)),
          .overlap = number(kOverlap),
          .score = number(kScore),
          .has_score = node.has_input(kScore),
          .centers = node.attr_int("center_point_box", 0) != 0};
}

std::vector<std::array<int64_t, 3>> select_boxes(const TensorView& boxes, const TensorView& scores,
                                                 const SuppressionRules& rules) {
  const Shape& shape = *scores.shape;
  const int64_t count = shape[2];
  std::vector<std::array<int64_t, 3>> kept;
  for (int64_t batch = 0; batch < shape[0]; ++batch) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      const float* of_class = scores.as<float>() + (batch * shape[1] + c) * count;
      const float* of_batch = boxes.as<float>() + batch * count * 4;
      for (const int64_t i : select_of_class(of_batch, of_class, count, rules)) {
        kept.push_back({batch, c, i});
      }
    }
  }
  return kept;
}

extern const OpDef kNonMaxSuppression = {.name = "NonMaxSuppression",
                                         .kind = OpKind::kOther,
                                         .inputs = {2, 5},
                                         .attributes = kNonMaxSuppressionAttributes,
                                         .infer = infer_non_max_suppression,
                                         .cost = cost_non_max_suppression,
                                         .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
