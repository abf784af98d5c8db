#include "data/readable.h"

#include <algorithm>
#include <thread>

#include "base/error.h"

namespace trainyard::data {
namespace {

class Readable final : public Dataset {
 public:
  Readable(std::unique_ptr<Dataset> all, std::vector<int64_t> kept)
      : Dataset({.shape = all->shape(),
                 .class_names = all->class_names(),
                 .source = fmt::format("{}, {} of {}", all->source(), kept.size(), all->size())}),
        all_(std::move(all)),
        kept_(std::move(kept)) {}

  int64_t size() const override { return static_cast<int64_t>(kept_.size()); }
  TargetKind target_kind() const override { return all_->target_kind(); }
  int64_t label(int64_t index) const override { return all_->label(at(index)); }
  void target(int64_t index, Target& target) const override { all_->target(at(index), target); }
  PixelView pixels(int64_t index, Pixels& room) const override {
    return all_->pixels(at(index), room);
  }
  std::string sample_name(int64_t index) const override { return all_->sample_name(at(index)); }

 private:
  int64_t at(int64_t index) const { return kept_[static_cast<size_t>(index)]; }

  std::unique_ptr<Dataset> all_;
  std::vector<int64_t> kept_;
};

// By sample: why it cannot be read; empty: it can.
std::vector<std::string> problems_of(const Dataset& dataset) {
  std::vector<std::string> problems(static_cast<size_t>(dataset.size()));
  const size_t count = std::max(1U, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < count; ++t) {
    threads.emplace_back([&, t] {
      Pixels room;
      for (size_t i = t; i < problems.size(); i += count) {
        try {
          dataset.pixels(static_cast<int64_t>(i), room);
        } catch (const Error& error) {
          problems[i] = error.what();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return problems;
}

}  // namespace

std::unique_ptr<Dataset> only_readable(std::unique_ptr<Dataset> dataset,
                                       std::vector<std::string>& skipped) {
  const std::vector<std::string> problems = problems_of(*dataset);
  std::vector<int64_t> kept;
  for (size_t i = 0; i < problems.size(); ++i) {
    if (problems[i].empty()) {
      kept.push_back(static_cast<int64_t>(i));
    } else {
      skipped.push_back(problems[i]);
    }
  }
  TY_REQUIRE(!kept.empty(), "{}: no sample can be read; the first: {}", dataset->source(),
             skipped.empty() ? "" : skipped[0]);
  if (kept.size() == problems.size()) return dataset;
  return std::make_unique<Readable>(std::move(dataset), std::move(kept));
}

}  // namespace trainyard::data
