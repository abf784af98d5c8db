#include "studies/selection.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::recipes {
namespace {

class ChosenSet final : public data::Dataset {
 public:
  ChosenSet(std::shared_ptr<const data::Dataset> all, std::vector<Choice> choices, TargetForm form,
            std::shared_ptr<const ScoreTable> scores)
      : Dataset({.shape = all->shape(),
                 .class_names = all->class_names(),
                 .source = fmt::format("{} choices of the teacher from {}", choices.size(),
                                       all->source())}),
        all_(std::move(all)),
        choices_(std::move(choices)),
        form_(form),
        scores_(std::move(scores)) {}

  int64_t size() const override { return static_cast<int64_t>(choices_.size()); }
  data::TargetKind target_kind() const override {
    return form_ == TargetForm::kSoft ? data::TargetKind::kProbabilities : data::TargetKind::kClass;
  }
  int64_t label(int64_t index) const override { return at(index).label; }
  void target(int64_t index, data::Target& target) const override {
    target.label = at(index).label;
    if (form_ == TargetForm::kHard) return;
    const std::span<const float> row = scores_->row(at(index).sample);
    target.probabilities.assign(row.begin(), row.end());
  }
  data::PixelView pixels(int64_t index, data::Pixels& room) const override {
    return all_->pixels(at(index).sample, room);
  }
  std::string sample_name(int64_t index) const override {
    return all_->sample_name(at(index).sample);
  }

 private:
  const Choice& at(int64_t index) const { return choices_[static_cast<size_t>(index)]; }

  std::shared_ptr<const data::Dataset> all_;
  std::vector<Choice> choices_;
  TargetForm form_;
  std::shared_ptr<const ScoreTable> scores_;
};

}  // namespace

std::vector<Choice> choose_pictures(const ScoreTable& scores, int64_t k, int64_t p) {
  const int64_t images = scores.images();
  TY_REQUIRE(1 <= k && k <= images, "K is {}, but there are {} unlabeled pictures to choose from",
             k, images);
  TY_REQUIRE(1 <= p && p <= scores.classes, "P is {}, expected 1 to the {} classes", p,
             scores.classes);
  std::vector<std::vector<Choice>> by_class(static_cast<size_t>(scores.classes));
  std::vector<int64_t> order(static_cast<size_t>(scores.classes));
  for (int64_t i = 0; i < images; ++i) {
    const std::span<const float> row = scores.row(i);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + p, order.end(), [&](int64_t a, int64_t b) {
      const float left = row[static_cast<size_t>(a)];
      const float right = row[static_cast<size_t>(b)];
      return left != right ? left > right : a < b;
    });
    for (int64_t c = 0; c < p; ++c) {
      const auto label = static_cast<size_t>(order[static_cast<size_t>(c)]);
      by_class[label].push_back({i, static_cast<int64_t>(label), row[label]});
    }
  }
  std::vector<Choice> all;
  for (std::vector<Choice>& own : by_class) {
    std::stable_sort(own.begin(), own.end(),
                     [](const Choice& a, const Choice& b) { return a.score > b.score; });
    if (static_cast<int64_t>(own.size()) > k) own.resize(static_cast<size_t>(k));
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::unique_ptr<data::Dataset> chosen_set(std::shared_ptr<const data::Dataset> all,
                                          std::vector<Choice> choices, TargetForm form,
                                          std::shared_ptr<const ScoreTable> scores) {
  return std::make_unique<ChosenSet>(std::move(all), std::move(choices), form, std::move(scores));
}

}  // namespace trainyard::recipes
