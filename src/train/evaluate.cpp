#include "train/evaluate.h"

#include <algorithm>

#include "base/error.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "engine/compiler.h"
#include "engine/executable.h"

namespace trainyard::train {
namespace {

class JoinedEvaluator final : public Evaluator {
 public:
  explicit JoinedEvaluator(std::vector<std::unique_ptr<Evaluator>> parts)
      : parts_(std::move(parts)) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    for (const auto& part : parts_) part->add(outputs, batch);
  }

  Evaluation result() const override {
    Evaluation all = parts_[0]->result();
    for (size_t i = 1; i < parts_.size(); ++i) {
      Evaluation more = parts_[i]->result();
      all.scores.insert(all.scores.end(), more.scores.begin(), more.scores.end());
      if (!more.confusion.empty()) {
        all.classes = more.classes;
        all.confusion = std::move(more.confusion);
        all.guesses = std::move(more.guesses);
      }
    }
    return all;
  }

  std::vector<double> sums() const override {
    std::vector<double> all;
    for (const auto& part : parts_) {
      const std::vector<double> sums = part->sums();
      all.insert(all.end(), sums.begin(), sums.end());
    }
    return all;
  }

  void set_sums(std::span<const double> sums) override {
    for (const auto& part : parts_) {
      const size_t count = part->sums().size();
      part->set_sums(sums.first(count));
      sums = sums.subspan(count);
    }
  }

  void combine(const TestTeam& team) override {
    for (const auto& part : parts_) part->combine(team);
  }

 private:
  std::vector<std::unique_ptr<Evaluator>> parts_;
};

}  // namespace

void Evaluator::combine(const TestTeam& team) {
  std::vector<double> all = sums();
  team.sum(all);
  set_sums(all);
}

std::vector<double> gather(const TestTeam& team, std::span<const double> own) {
  std::vector<double> counts(static_cast<size_t>(team.workers), 0);
  counts[static_cast<size_t>(team.rank)] = static_cast<double>(own.size());
  team.sum(counts);
  size_t begin = 0;
  size_t total = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (static_cast<int64_t>(i) < team.rank) begin += static_cast<size_t>(counts[i]);
    total += static_cast<size_t>(counts[i]);
  }
  std::vector<double> all(total, 0);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<ptrdiff_t>(begin));
  if (total > 0) team.sum(all);
  return all;
}

double Evaluation::score(std::string_view name) const {
  const Score* found = find_score(scores, name);
  TY_REQUIRE(found != nullptr, "the test gives no '{}'", name);
  return found->value;
}

std::unique_ptr<Evaluator> join_evaluators(std::vector<std::unique_ptr<Evaluator>> parts) {
  TY_CHECK(!parts.empty(), "nothing to join");
  if (parts.size() == 1) return std::move(parts[0]);
  return std::make_unique<JoinedEvaluator>(std::move(parts));
}

Evaluation evaluate(Graph model, data::Loader& loader, const MakeEvaluator& make, int threads,
                    const TestTeam& team, std::shared_ptr<device::Device> device) {
  const std::unique_ptr<Evaluator> evaluator = make(model);
  runtime::CompileOptions options;
  options.threads = threads;
  options.device = std::move(device);
  runtime::ExecutionContext context(runtime::compile(std::move(model), options));
  std::vector<const Tensor*> outputs;
  for (size_t i = 0; i < context.num_outputs(); ++i) outputs.push_back(&context.output(i));
  const Stopwatch watch;
  loader.start_epoch(0);
  while (const data::Batch* batch = loader.next()) {
    context.set_input(0, batch->input());
    context.run();
    evaluator->add(outputs, *batch);
  }
  const double seconds = watch.seconds();
  if (team.sum) evaluator->combine(team);
  Evaluation result = evaluator->result();
  result.seconds = seconds;
  return result;
}

}  // namespace trainyard::train
