#include "data/subsets.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/class_balance.h"

namespace trainyard::data {
namespace {

// Refers to samples of another set; nothing is copied.
class Selection : public Dataset {
 public:
  Selection(std::shared_ptr<const Dataset> all, std::vector<int64_t> chosen, std::string source)
      : Dataset({.shape = all->shape(),
                 .class_names = all->class_names(),
                 .source = std::move(source),
                 .tokens = all->tokens(),
                 .table = all->table()}),
        all_(std::move(all)),
        chosen_(std::move(chosen)) {}

  int64_t size() const override { return static_cast<int64_t>(chosen_.size()); }
  TargetKind target_kind() const override { return all_->target_kind(); }
  int64_t label(int64_t index) const override { return all_->label(at(index)); }
  void target(int64_t index, Target& target) const override { all_->target(at(index), target); }
  PixelView pixels(int64_t index, Pixels& room) const override {
    return all_->pixels(at(index), room);
  }
  void read_tokens(int64_t index, std::span<int64_t> now, std::span<int64_t> next) const override {
    all_->read_tokens(at(index), now, next);
  }
  void read_row(int64_t index, std::span<float> row) const override {
    all_->read_row(at(index), row);
  }
  std::string sample_name(int64_t index) const override { return all_->sample_name(at(index)); }

 private:
  int64_t at(int64_t index) const { return chosen_[static_cast<size_t>(index)]; }

  std::shared_ptr<const Dataset> all_;
  std::vector<int64_t> chosen_;
};

class Relabeled final : public Dataset {
 public:
  Relabeled(std::shared_ptr<const Dataset> all, std::vector<int64_t> labels, std::string source)
      : Dataset({.shape = all->shape(),
                 .class_names = all->class_names(),
                 .source = std::move(source),
                 .tokens = all->tokens(),
                 .table = all->table()}),
        all_(std::move(all)),
        labels_(std::move(labels)) {}

  int64_t size() const override { return all_->size(); }
  int64_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }
  PixelView pixels(int64_t index, Pixels& room) const override { return all_->pixels(index, room); }
  void read_tokens(int64_t index, std::span<int64_t> now, std::span<int64_t> next) const override {
    all_->read_tokens(index, now, next);
  }
  void read_row(int64_t index, std::span<float> row) const override { all_->read_row(index, row); }
  std::string sample_name(int64_t index) const override { return all_->sample_name(index); }

 private:
  std::shared_ptr<const Dataset> all_;
  std::vector<int64_t> labels_;
};

// The first `count` of the members in random order. The order does not depend on the count, so a
// larger choice holds the smaller ones.
void choose(std::vector<int64_t> members, int64_t count, const RandomStream& random,
            std::vector<int64_t>& chosen) {
  for (size_t i = members.size(); i > 1; --i) {
    std::swap(members[i - 1], members[random.below(i, i)]);
  }
  chosen.insert(chosen.end(), members.begin(), members.begin() + count);
}

RandomStream stream_of_class(uint64_t seed, size_t label) {
  return RandomStream(seed, hash_text("samples of a class") + label);
}

// Of samples without classes.
std::vector<int64_t> choose_any(int64_t size, int64_t count, uint64_t seed) {
  std::vector<int64_t> all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  std::vector<int64_t> chosen;
  choose(std::move(all), count, stream_of_class(seed, 0), chosen);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace

std::unique_ptr<Dataset> select_samples(std::shared_ptr<const Dataset> all,
                                        std::vector<int64_t> chosen, std::string source) {
  return std::make_unique<Selection>(std::move(all), std::move(chosen), std::move(source));
}

std::vector<int64_t> choose_evenly(const Dataset& dataset, int64_t count, uint64_t seed) {
  TY_REQUIRE(1 <= count && count <= dataset.size(), "{} has {} samples, so {} cannot be taken",
             dataset.source(), dataset.size(), count);
  if (dataset.target_kind() == TargetKind::kTokens ||
      dataset.target_kind() == TargetKind::kNumber || dataset.target_kind() == TargetKind::kSpan) {
    return choose_any(dataset.size(), count, seed);
  }
  std::vector<std::vector<int64_t>> members = members_of_classes(dataset);
  std::vector<double> weights;
  for (const auto& own : members) weights.push_back(static_cast<double>(own.size()));
  const std::vector<int64_t> shares = deal_out(count, weights);
  std::vector<int64_t> chosen;
  for (size_t c = 0; c < members.size(); ++c) {
    // A class without samples would still be an output of the network that nothing trains.
    TY_REQUIRE(members[c].empty() || shares[c] > 0,
               "{} samples leave class '{}' of {} without any; take more", count,
               dataset.class_names()[c], dataset.source());
    choose(std::move(members[c]), shares[c], stream_of_class(seed, c), chosen);
  }
  // In the order of the set; samplers shuffle.
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

Parts hold_out(const Dataset& dataset, double share, uint64_t seed) {
  std::vector<std::vector<int64_t>> groups(1);
  if (dataset.target_kind() == TargetKind::kClass) {
    groups = members_of_classes(dataset);
  } else {
    groups[0].resize(static_cast<size_t>(dataset.size()));
    std::iota(groups[0].begin(), groups[0].end(), int64_t{0});
  }
  Parts parts;
  for (size_t c = 0; c < groups.size(); ++c) {
    const auto size = static_cast<int64_t>(groups[c].size());
    if (size < 2) continue;
    const auto wanted = std::llround(share * static_cast<double>(size));
    choose(std::move(groups[c]), std::clamp<int64_t>(wanted, 1, size - 1),
           RandomStream(seed, hash_text("held out of a class") + c), parts.held_out);
  }
  std::sort(parts.held_out.begin(), parts.held_out.end());
  TY_REQUIRE(!parts.held_out.empty(), "{} has no class of two samples, so none can be held out",
             dataset.source());
  auto next = parts.held_out.begin();
  for (int64_t i = 0; i < dataset.size(); ++i) {
    if (next != parts.held_out.end() && *next == i) {
      ++next;
    } else {
      parts.kept.push_back(i);
    }
  }
  return parts;
}

// The r-th class keeps r^-exponent of its samples, at least one.
std::vector<int64_t> choose_long_tail(const Dataset& dataset, double exponent, uint64_t seed) {
  std::vector<std::vector<int64_t>> members = members_of_classes(dataset);
  std::vector<int64_t> chosen;
  for (size_t c = 0; c < members.size(); ++c) {
    if (members[c].empty()) continue;
    const double share = std::pow(static_cast<double>(c + 1), -exponent);
    const auto count =
        std::max<int64_t>(1, std::llround(share * static_cast<double>(members[c].size())));
    choose(std::move(members[c]), count, stream_of_class(seed, c), chosen);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::unique_ptr<Dataset> with_label_noise(std::shared_ptr<const Dataset> all, double share,
                                          uint64_t seed) {
  const std::vector<std::vector<int64_t>> members = members_of_classes(*all);
  const auto filled =
      std::count_if(members.begin(), members.end(), [](const auto& own) { return !own.empty(); });
  TY_REQUIRE(filled > 1, "{}: labels cannot be wrong where there is one class", all->source());
  const auto size = static_cast<uint64_t>(all->size());
  std::vector<int64_t> labels(size);
  for (uint64_t i = 0; i < size; ++i) {
    // A stream for each sample, so that its label does not depend on the size of the set.
    const RandomStream random(seed, mix_bits(hash_text("label noise") + i));
    const int64_t own = all->label(static_cast<int64_t>(i));
    labels[i] = own;
    if (random.uniform(0) >= share) continue;
    // The label of any sample of another class: that draws classes as often as they occur.
    for (uint64_t draw = 1; labels[i] == own; ++draw) {
      labels[i] = all->label(static_cast<int64_t>(random.below(draw, size)));
    }
  }
  std::string source =
      fmt::format("{}, {:.4g} % of the labels replaced", all->source(), 100 * share);
  return std::make_unique<Relabeled>(std::move(all), std::move(labels), std::move(source));
}

}  // namespace trainyard::data
