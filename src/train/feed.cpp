#include "train/feed.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace trainyard::train {
namespace {

void require_classes(const data::Batch& batch) {
  TY_REQUIRE(
      batch.valid == 0 || batch.labels.values<int64_t>()[0] != data::kNoLabel,
      "this loss needs the class of each sample, which the data does not have{}",
      batch.probabilities.empty() ? "" : "; for probabilities use `loss` soft-cross-entropy");
}

void feed_labels(const data::Batch& batch, Tensor& labels) {
  require_classes(batch);
  const std::span<const int64_t> from = batch.labels.values<int64_t>();
  const std::span<int64_t> to = labels.values<int64_t>();
  std::copy_n(from.begin(), to.size(), to.begin());
}

void feed_targets(const data::Batch& batch, Tensor& targets) {
  const std::span<float> to = targets.values<float>();
  if (!batch.numbers.empty()) {
    TY_REQUIRE(to.size() <= static_cast<size_t>(batch.numbers.num_elements()),
               "the network gives {}, but the data has one number for each row",
               targets.shape().to_string());
    std::copy_n(batch.numbers.values<float>().begin(), to.size(), to.begin());
    return;
  }
  if (!batch.probabilities.empty()) {
    TY_REQUIRE(targets.shape().rank() == 2 && targets.shape()[1] == batch.probabilities.shape()[1],
               "the network gives {}, but the data has {} classes", targets.shape().to_string(),
               batch.probabilities.shape()[1]);
    std::copy_n(batch.probabilities.values<float>().begin(), to.size(), to.begin());
    return;
  }
  require_classes(batch);
  const Shape& shape = targets.shape();
  TY_REQUIRE(shape.rank() == 2, "the network gives {}; classes are targets of images x classes",
             shape.to_string());
  std::fill(to.begin(), to.end(), 0.0F);
  for (int64_t i = 0; i < std::min(batch.valid, shape[0]); ++i) {
    const int64_t label = batch.labels.values<int64_t>()[static_cast<size_t>(i)];
    TY_REQUIRE(0 <= label && label < shape[1], "label {} is outside the network's {} classes",
               label, shape[1]);
    to[static_cast<size_t>(i * shape[1] + label)] = 1;
  }
}

}  // namespace

void feed_classes(const data::Batch& batch, std::span<const ObjectiveInput> inputs) {
  for (const ObjectiveInput& input : inputs) {
    if (input.name == kLabelsInput) {
      feed_labels(batch, *input.tensor);
    } else if (input.name == kTargetsInput) {
      feed_targets(batch, *input.tensor);
    } else {
      throw_error("the data has nothing for the objective's input '{}'", input.name);
    }
  }
}

void feed_tokens(const data::Batch& batch, std::span<const ObjectiveInput> inputs) {
  for (const ObjectiveInput& input : inputs) {
    const Tensor& wanted = batch.spans.empty() ? batch.next : batch.spans;
    TY_REQUIRE(input.name == kLabelsInput && !wanted.empty(),
               "the data has nothing for the objective's input '{}'", input.name);
    const std::span<int64_t> to = input.tensor->values<int64_t>();
    std::copy_n(wanted.values<int64_t>().begin(), to.size(), to.begin());
  }
}

void feed_step(const data::Batch& batch, const Feed& feed, TrainingStep& step) {
  Tensor& given = step.input(0);
  TY_CHECK(batch.input().type() == given.type(), "batch of {}, expected {}",
           batch.input().type().to_string(), given.type().to_string());
  std::memcpy(given.data(), batch.input().data(), static_cast<size_t>(given.num_bytes()));
  std::vector<ObjectiveInput> inputs;
  for (const std::string& name : step.objective_inputs())
    inputs.push_back({name, &step.input(name)});
  feed(batch, inputs);
}

}  // namespace trainyard::train
