// NonMaxSuppression: of boxes that overlap, keeps the one with the highest score, class by class.
#include "ops/vision/non_max_suppression.h"

#include <algorithm>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kNonMaxSuppressionAttributes[] = {{"center_point_box", AttrKind::kInt}};
constexpr size_t kMostPerClass = 2;
constexpr size_t kOverlap = 3;
constexpr size_t kScore = 4;

struct Candidate {
  float score;
  int64_t box;
};

// Of equal scores the first box comes first.
bool comes_later(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.box > b.box);
}

// Chooses boxes class by class, with the memory of the class before.
class Selector {
 public:
  Selector(const float* boxes, int64_t count, const SuppressionRules& rules) : rules_(rules) {
    corners_.reserve(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      corners_.push_back(box_corners(boxes + 4 * i, rules.centers));
    }
  }

  // The boxes kept of one class, best first. Candidates are a heap, so that no more of them are put
  // in order than are looked at.
  const std::vector<int64_t>& select(const float* scores) {
    candidates_.clear();
    for (size_t i = 0; i < corners_.size(); ++i) {
      if (rules_.has_score && !(scores[i] > rules_.score)) continue;
      candidates_.push_back({scores[i], static_cast<int64_t>(i)});
    }
    std::make_heap(candidates_.begin(), candidates_.end(), comes_later);
    kept_.clear();
    while (!candidates_.empty() && static_cast<int64_t>(kept_.size()) < rules_.most_per_class) {
      std::pop_heap(candidates_.begin(), candidates_.end(), comes_later);
      take_unless_covered(candidates_.back().box);
      candidates_.pop_back();
    }
    return kept_;
  }

 private:
  void take_unless_covered(int64_t index) {
    const BoxCorners& box = corners_[static_cast<size_t>(index)];
    for (const int64_t other : kept_) {
      if (boxes_overlap(box, corners_[static_cast<size_t>(other)], rules_.overlap)) return;
    }
    kept_.push_back(index);
  }

  const SuppressionRules& rules_;
  std::vector<BoxCorners> corners_;
  std::vector<Candidate> candidates_;
  std::vector<int64_t> kept_;
};

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
  return {{DType::kI64, {Shape::kUnknown, 3}}};
}

// Counting the boxes takes as long as choosing them: the shape comes from the result.
std::vector<Tensor> kept_boxes(const NodeView& node) {
  if (!all_inputs_constant(node)) return {};
  const auto kept = select_boxes(node.input_constant(0)->view(), node.input_constant(1)->view(),
                                 suppression_rules(node));
  Tensor rows(DType::kI64, Shape{static_cast<int64_t>(kept.size()), 3});
  auto* to = rows.view().as<int64_t>();
  for (const auto& row : kept) to = std::copy(row.begin(), row.end(), to);
  std::vector<Tensor> outputs;
  outputs.push_back(std::move(rows));
  return outputs;
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

BoxCorners box_corners(const float* box, bool centers) {
  const double a = box[0];
  const double b = box[1];
  const double c = box[2];
  const double d = box[3];
  if (centers) return {a - c / 2, b - d / 2, a + c / 2, b + d / 2};
  return {std::min(b, d), std::min(a, c), std::max(b, d), std::max(a, c)};
}

bool boxes_overlap(const BoxCorners& a, const BoxCorners& b, double share) {
  const double width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return false;
  const double shared = width * height;
  return shared > share * (a.area() + b.area() - shared);
}

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
    Selector selector(boxes.as<float>() + batch * count * 4, count, rules);
    for (int64_t c = 0; c < shape[1]; ++c) {
      const float* of_class = scores.as<float>() + (batch * shape[1] + c) * count;
      for (const int64_t i : selector.select(of_class)) kept.push_back({batch, c, i});
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
                                         .evaluate = kept_boxes,
                                         .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
