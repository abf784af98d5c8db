#include "program/class_scores.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tensor/text.h"

namespace trainyard::cli {
namespace {

// Networks with a softmax of their own must not get a second one.
bool are_probabilities(const std::vector<ClassScore>& scores) {
  double sum = 0;
  for (const ClassScore& score : scores) {
    if (!(score.score >= 0 && score.score <= 1)) return false;
    sum += score.score;
  }
  return std::fabs(sum - 1) < 1e-3;
}

void add_probabilities(std::vector<ClassScore>& scores) {
  if (are_probabilities(scores)) {
    for (ClassScore& score : scores) score.probability = score.score;
    return;
  }
  // Less the largest, so that no exponential overflows.
  double most = -INFINITY;
  for (const ClassScore& score : scores) most = std::max(most, score.score);
  double sum = 0;
  for (ClassScore& score : scores) sum += score.probability = std::exp(score.score - most);
  for (ClassScore& score : scores) score.probability /= sum;
}

std::string label_of(const ClassScore& score, std::span<const std::string> labels) {
  const auto index = static_cast<size_t>(score.index);
  return index < labels.size() ? labels[index] : "";
}

}  // namespace

bool is_class_scores(const Tensor& tensor) {
  return is_float(tensor.dtype()) && tensor.shape().rank() >= 2 && tensor.shape()[0] >= 1 &&
         tensor.shape()[1] > 1 && tensor.num_elements() == tensor.shape()[0] * tensor.shape()[1];
}

std::vector<ClassScore> best_classes(const Tensor& tensor, int64_t count, int64_t row) {
  const int64_t length = tensor.shape()[1];
  std::vector<ClassScore> scores;
  for (int64_t i = 0; i < length; ++i) {
    scores.push_back({i, element_as_double(tensor, row * length + i)});
  }
  add_probabilities(scores);
  count = std::min(count, length);
  std::partial_sort(scores.begin(), scores.begin() + count, scores.end(),
                    // Ties by index: the same list on every machine.
                    [](const ClassScore& a, const ClassScore& b) {
                      return a.score != b.score ? a.score > b.score : a.index < b.index;
                    });
  scores.resize(static_cast<size_t>(count));
  return scores;
}

report::Table class_table(std::span<const ClassScore> scores, std::span<const std::string> labels) {
  report::Table table({{"class"}, {"label", report::Align::kLeft}, {"probability"}, {"score"}});
  for (const ClassScore& score : scores) {
    table.add_row({fmt::format("{}", score.index), label_of(score, labels),
                   report::percent_cell(score.probability, 2), report::fixed_cell(score.score, 4)});
  }
  return table;
}

Json class_json(std::span<const ClassScore> scores, std::span<const std::string> labels) {
  Json list = Json::array();
  for (const ClassScore& score : scores) {
    list.push_back(Json::object({{"class", score.index},
                                 {"label", label_of(score, labels)},
                                 {"probability", score.probability},
                                 {"score", score.score}}));
  }
  return list;
}

std::vector<std::string> first_texts(const Tensor& tensor, int64_t count) {
  std::vector<std::string> texts;
  for (int64_t i = 0; i < std::min(count, tensor.num_elements()); ++i) {
    texts.emplace_back(text_at(tensor.view(), i));
  }
  return texts;
}

}  // namespace trainyard::cli
