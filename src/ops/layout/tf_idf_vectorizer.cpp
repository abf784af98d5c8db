// TfIdfVectorizer of numbers: how often each n-gram of a pool occurs in each row, plain, as yes or
// no, or weighted. The elements of an n-gram may lie up to max_skip_count + 1 apart.
#include <algorithm>
#include <cstdint>
#include <map>

#include "base/error.h"
#include "ops/op_def.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kTfIdfAttributes[] = {
    {"max_gram_length", AttrKind::kInt}, {"max_skip_count", AttrKind::kInt},
    {"min_gram_length", AttrKind::kInt}, {"mode", AttrKind::kText},
    {"ngram_counts", AttrKind::kInts},   {"ngram_indexes", AttrKind::kInts},
    {"pool_int64s", AttrKind::kInts},    {"weights", AttrKind::kFloats}};

constexpr int64_t kLargestColumn = INT32_MAX;

struct Vocabulary {
  std::map<std::vector<int64_t>, size_t> grams;  // to their number in the pool
  std::vector<int64_t> columns;                  // of the output, by number
  std::vector<float> weights;                    // by number; empty: all 1
  int64_t width = 0;                             // of the output
  int64_t shortest = 1, longest = 1, skips = 0;
  bool counts = true;  // as opposed to yes or no
  bool weighs = false;
};

Vocabulary vocabulary_of(const NodeView& node) {
  Vocabulary v;
  v.columns = node.attr_ints("ngram_indexes", {});
  v.weights = node.attr_floats("weights", {});
  v.shortest = node.attr_int("min_gram_length", 1);
  v.longest = node.attr_int("max_gram_length", 1);
  v.skips = node.attr_int("max_skip_count", 0);
  const std::string mode = node.attr_text("mode", "");
  TY_REQUIRE(mode == "TF" || mode == "IDF" || mode == "TFIDF",
             "mode '{}' is not one of TF, IDF, TFIDF", mode);
  v.counts = mode != "IDF";
  v.weighs = mode != "TF" && !v.weights.empty();
  TY_REQUIRE(1 <= v.shortest && v.shortest <= v.longest && v.skips >= 0,
             "n-grams of {} to {} elements with up to {} skipped are not possible", v.shortest,
             v.longest, v.skips);
  // pool_int64s holds all n-grams one after the other, those of length 1 first; ngram_counts says
  // where each length begins (ONNX, TfIdfVectorizer).
  const std::vector<int64_t> pool = node.attr_ints("pool_int64s", {});
  const std::vector<int64_t> starts = node.attr_ints("ngram_counts", {});
  for (size_t n = 1; n <= starts.size(); ++n) {
    const auto begin = starts[n - 1];
    const auto end = n < starts.size() ? starts[n] : static_cast<int64_t>(pool.size());
    TY_REQUIRE(0 <= begin && begin <= end && end <= static_cast<int64_t>(pool.size()) &&
                   (end - begin) % static_cast<int64_t>(n) == 0,
               "ngram_counts do not fit a pool of {} elements", pool.size());
    for (int64_t at = begin; at < end; at += static_cast<int64_t>(n)) {
      const std::vector<int64_t> gram(pool.begin() + at,
                                      pool.begin() + at + static_cast<int64_t>(n));
      // Numbered in the order of the pool, which ngram_indexes and weights follow.
      const size_t number = v.grams.size();
      TY_REQUIRE(v.grams.emplace(gram, number).second, "an n-gram is twice in the pool");
    }
  }
  // None of the pool is longer.
  v.longest = std::min(v.longest, static_cast<int64_t>(starts.size()));
  TY_REQUIRE(v.columns.size() == v.grams.size() &&
                 (v.weights.empty() || v.weights.size() == v.grams.size()),
             "{} n-grams have {} indexes and {} weights", v.grams.size(), v.columns.size(),
             v.weights.size());
  for (const int64_t column : v.columns) {
    TY_REQUIRE(column >= 0 && column <= kLargestColumn,
               "an index of an n-gram is {}, expected 0 to {}", column, kLargestColumn);
    // The output is as wide as the largest index says, however few n-grams there are.
    v.width = std::max(v.width, column + 1);
  }
  return v;
}

std::vector<TensorType> infer_tf_idf(const NodeView& node) {
  const Shape& x = node.input_shape(0);
  TY_REQUIRE(is_integer(node.input_type(0).dtype), "only integers are supported, found {}",
             dtype_name(node.input_type(0).dtype));
  TY_REQUIRE(x.rank() == 1 || x.rank() == 2,
             "the input has shape {}, expected one or two dimensions", x.to_string());
  const int64_t width = vocabulary_of(node).width;
  if (x.rank() == 1) return {{DType::kF32, {width}}};
  return {{DType::kF32, {x[0], width}}};
}

void count_row(const Vocabulary& v, std::span<const int64_t> row, float* y) {
  std::vector<int64_t> gram;
  const auto size = static_cast<int64_t>(row.size());
  for (int64_t length = v.shortest; length <= std::min(v.longest, size); ++length) {
    // Skipping changes nothing for single elements; the elements of others must lie in the row.
    const int64_t skips = length == 1 ? 0 : std::min(v.skips, (size - 1) / (length - 1) - 1);
    for (int64_t apart = 1; apart <= skips + 1; ++apart) {
      const int64_t span = (length - 1) * apart + 1;
      for (int64_t at = 0; at + span <= size; ++at) {
        gram.clear();
        for (int64_t i = 0; i < length; ++i)
          gram.push_back(row[static_cast<size_t>(at + i * apart)]);
        const auto found = v.grams.find(gram);
        if (found == v.grams.end()) continue;
        const float weight = v.weighs ? v.weights[found->second] : 1.0F;
        float& sum = y[v.columns[found->second]];
        // IDF: whether it occurs, so a second occurrence changes nothing.
        sum = v.counts ? sum + weight : weight;
      }
    }
  }
}

// The vocabulary is built once and shared by all rows and runs.
Routine routine_tf_idf(const NodeView& node) {
  return [v = vocabulary_of(node)](Views inputs, Views outputs) {
    const Shape& shape = *inputs[0].shape;
    const int64_t rows = shape.rank() == 1 ? 1 : shape[0];
    const int64_t length = shape[shape.rank() - 1];
    auto* y = outputs[0].as<float>();
    std::fill(y, y + rows * v.width, 0.0F);
    std::vector<int64_t> row(static_cast<size_t>(length));
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < length; ++i) {
        row[static_cast<size_t>(i)] = element_as_int(inputs[0], r * length + i);
      }
      count_row(v, row, y + r * v.width);
    }
  };
}

}  // namespace

extern const OpDef kTfIdfVectorizer = {.name = "TfIdfVectorizer",
                                       .kind = OpKind::kDataMovement,
                                       .attributes = kTfIdfAttributes,
                                       .infer = infer_tf_idf,
                                       .routine = routine_tf_idf,
                                       .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
