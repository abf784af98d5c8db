#include "studies/scores.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/loader.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "train/objectives/outputs.h"
#include "train/run_parts.h"

namespace trainyard::recipes {
namespace {

void add_softmax(std::span<const float> scores, double temperature, std::vector<float>& out) {
  const double most = static_cast<double>(*std::max_element(scores.begin(), scores.end()));
  double sum = 0;
  for (const float score : scores) {
    sum += std::exp((static_cast<double>(score) - most) / temperature);
  }
  for (const float score : scores) {
    out.push_back(
        static_cast<float>(std::exp((static_cast<double>(score) - most) / temperature) / sum));
  }
}

}  // namespace

int64_t ScoreTable::best(int64_t image) const {
  const std::span<const float> own = row(image);
  return std::max_element(own.begin(), own.end()) - own.begin();
}

ScoreTable score_pictures(Graph model, const data::Dataset& set, double temperature,
                          const ScoringOptions& options) {
  TY_REQUIRE(temperature > 0, "the temperature is {}, expected more than 0", temperature);
  TY_REQUIRE(model.inputs().size() == 1, "the network has {} inputs, expected one for pictures",
             model.inputs().size());
  const ValueId scores = train::class_scores(model, model.outputs()[0]);
  model.set_outputs({scores});
  const Shape input = model.value(model.inputs()[0]).type.shape;
  TY_REQUIRE(input.rank() == 4, "the network takes {}, expected pictures", input.to_string());
  data::Loader loader(
      set, {.batch = input[0], .workers = options.data_workers, .augmentations = options.steps});
  train::require_input_shape(input, input[0], loader.augmentations());
  ScoreTable table{.classes = model.value(scores).type.shape[1], .values = {}};
  table.values.reserve(static_cast<size_t>(set.size() * table.classes));
  runtime::CompileOptions compile;
  compile.threads = options.threads;
  runtime::ExecutionContext context(runtime::compile(std::move(model), compile));
  loader.start_epoch(0);
  while (const data::Batch* batch = loader.next()) {
    if (options.should_stop && options.should_stop()) throw_failure("stopped while scoring");
    context.set_input(0, batch->images);
    context.run();
    const std::span<const float> all = context.output(0).values<float>();
    for (int64_t i = 0; i < batch->valid; ++i) {
      add_softmax(
          all.subspan(static_cast<size_t>(i * table.classes), static_cast<size_t>(table.classes)),
          temperature, table.values);
    }
  }
  return table;
}

}  // namespace trainyard::recipes
