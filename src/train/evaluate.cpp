#include "train/evaluate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "runtime/compiler.h"
#include "runtime/executable.h"

namespace trainyard::train {
namespace {

constexpr int64_t kTop = 5;

// -log softmax(scores)[label], safe for large scores.
double cross_entropy(std::span<const float> scores, size_t label) {
  const double largest = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - largest);
  return std::log(sum) + largest - static_cast<double>(scores[label]);
}

}  // namespace

Evaluator::Evaluator(int64_t classes) : classes_(classes) {
  sums_.classes = classes;
  sums_.confusion.assign(static_cast<size_t>(classes * classes), 0);
}

void Evaluator::add(const Tensor& scores, const Tensor& labels, int64_t valid) {
  const auto classes = static_cast<size_t>(classes_);
  for (int64_t i = 0; i < valid; ++i) {
    const int64_t truth = labels.values<int64_t>()[static_cast<size_t>(i)];
    TY_REQUIRE(0 <= truth && truth < classes_, "label {} is outside the network's {} classes",
               truth, classes_);
    const auto label = static_cast<size_t>(truth);
    const std::span<const float> row =
        scores.values<float>().subspan(static_cast<size_t>(i) * classes, classes);
    // A tie goes to the lower class, as in ArgMax.
    const auto before = [&](size_t other) {
      return row[other] > row[label] || (row[other] == row[label] && other < label);
    };
    int64_t better = 0;
    size_t guess = 0;
    for (size_t c = 0; c < classes; ++c) {
      if (c != label && before(c)) ++better;
      if (row[c] > row[guess]) guess = c;
    }
    loss_ += cross_entropy(row, label);
    top1_ += guess == label ? 1 : 0;
    top5_ += better < kTop ? 1 : 0;
    sums_.confusion[label * classes + guess] += 1;
    sums_.images += 1;
  }
}

Evaluation Evaluator::result() const {
  Evaluation result = sums_;
  const auto images = static_cast<double>(std::max<int64_t>(1, sums_.images));
  result.loss = loss_ / images;
  result.top1 = static_cast<double>(top1_) / images;
  result.top5 = static_cast<double>(top5_) / images;
  return result;
}

std::vector<double> Evaluator::sums() const {
  std::vector<double> sums = {loss_, static_cast<double>(top1_), static_cast<double>(top5_),
                              static_cast<double>(sums_.images)};
  sums.insert(sums.end(), sums_.confusion.begin(), sums_.confusion.end());
  return sums;
}

void Evaluator::set_sums(std::span<const double> sums) {
  const auto count = [](double value) { return static_cast<int64_t>(value); };
  loss_ = sums[0];
  top1_ = count(sums[1]);
  top5_ = count(sums[2]);
  sums_.images = count(sums[3]);
  std::ranges::transform(sums.subspan(4), sums_.confusion.begin(), count);
}

Evaluation evaluate(Graph model, data::Loader& loader, int threads,
                    const std::function<void(std::span<double>)>& sum_over_workers) {
  runtime::CompileOptions options;
  options.threads = threads;
  const runtime::Executable executable = runtime::compile(std::move(model), options);
  runtime::ExecutionContext context(executable);
  const Shape& scores = executable.outputs().at(0).type.shape;
  TY_REQUIRE(scores.rank() == 2, "output '{}' has shape {}, expected images x classes",
             executable.outputs()[0].name, scores.to_string());
  Evaluator evaluator(scores[1]);
  loader.start_epoch(0);
  while (const data::Batch* batch = loader.next()) {
    context.set_input(0, batch->images);
    context.run();
    evaluator.add(context.output(0), batch->labels, batch->valid);
  }
  if (sum_over_workers) {
    std::vector<double> sums = evaluator.sums();
    sum_over_workers(sums);
    evaluator.set_sums(sums);
  }
  return evaluator.result();
}

}  // namespace trainyard::train
