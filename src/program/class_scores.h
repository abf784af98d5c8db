// The best classes of an output, with their names and probabilities, or names that it gives itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "report/table.h"
#include "tensor/tensor.h"

namespace trainyard::cli {

// One float row per image, of a score per class; a single number is a value, not a class.
bool is_class_scores(const Tensor& tensor);

struct ClassScore {
  int64_t index = 0;
  double score = 0;
  // The score itself where all of the row are in 0..1 and sum to 1, else its softmax.
  double probability = 0;
};

// The best `count` of a row, best first; ties by index.
std::vector<ClassScore> best_classes(const Tensor& tensor, int64_t count, int64_t row = 0);

// A table of them, and the same as JSON. Labels may be fewer than classes.
report::Table class_table(std::span<const ClassScore> scores, std::span<const std::string> labels);
Json class_json(std::span<const ClassScore> scores, std::span<const std::string> labels);

// The first `count` elements of a tensor of texts.
std::vector<std::string> first_texts(const Tensor& tensor, int64_t count);

}  // namespace trainyard::cli
