#include "cluster/predict/interval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "base/yaml.h"

namespace trainyard::predict {
namespace {

constexpr double kTail = 0.1;  // on either side

// From the best to the least supported prediction; find() walks down this list.
constexpr std::array kSupports = {Support::kAll, Support::kStackAndDevice, Support::kStack,
                                  Support::kRelatives};

std::string key_of(std::string_view device_class, Mode mode, Support support) {
  return fmt::format("{}/{}/{}", device_class, mode == Mode::kTraining ? "training" : "inference",
                     support_name(support));
}

double quantile(std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = at - static_cast<double>(below);
  return sorted[below] * (1 - part) + sorted[above] * part;
}

// Quantiles of the errors seen, not a normal distribution: the tails of stacks that were measured
// once are far from one.
Interval between_tails(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  return {quantile(errors, kTail), quantile(errors, 1 - kTail)};
}

}  // namespace

std::string_view support_name(Support support) {
  constexpr std::array<std::string_view, 4> kNames = {"network", "device", "stack", "relatives"};
  return kNames[static_cast<size_t>(support)];
}

std::string_view support_text(Support support) {
  switch (support) {
    case Support::kAll:
      return "this network was measured with this stack on this device";
    case Support::kStackAndDevice:
      return "other networks were measured with this stack on this device";
    case Support::kStack:
      return "this stack was measured on other devices";
    case Support::kRelatives:
      break;
  }
  return "only related stacks were measured";
}

Support support_of(const Stack& stack, const Device& device, std::string_view network) {
  if (stack.rows.empty()) return Support::kRelatives;
  if (stack.rows_on(device.id) == 0) return Support::kStack;
  return stack.networks.contains(network) ? Support::kAll : Support::kStackAndDevice;
}

// Errors are log(predicted / measured), so the largest error gives the least speed.
double Interval::least(double predicted) const {
  return predicted / std::exp(high);
}

double Interval::most(double predicted) const {
  return predicted / std::exp(low);
}

Interval interval_of(std::span<const GroupedError> errors) {
  std::vector<double> values;
  for (const GroupedError& e : errors) values.push_back(e.error);
  return between_tails(std::move(values));
}

// A group does not take part in its own interval; otherwise every interval would cover its share by
// construction.
int64_t covered_by_others(std::span<const GroupedError> errors) {
  std::map<int, Interval> without;
  int64_t covered = 0;
  for (const GroupedError& e : errors) {
    const auto [found, fresh] = without.try_emplace(e.group);
    if (fresh) {
      std::vector<double> others;
      for (const GroupedError& other : errors) {
        if (other.group != e.group) others.push_back(other.error);
      }
      found->second = between_tails(std::move(others));
    }
    if (e.error >= found->second.low && e.error <= found->second.high) ++covered;
  }
  return covered;
}

void Intervals::set(std::string_view device_class, Mode mode, Support support, Interval interval) {
  known_[key_of(device_class, mode, support)] = interval;
}

// Where a kind of support has no interval of its own, the wider one of less support is honest.
std::optional<Interval> Intervals::find(std::string_view device_class, Mode mode,
                                        Support support) const {
  for (const Support candidate : kSupports) {
    if (candidate < support) continue;
    const auto found = known_.find(key_of(device_class, mode, candidate));
    if (found != known_.end()) return found->second;
  }
  return std::nullopt;
}

std::string intervals_yaml(const Intervals& intervals) {
  if (intervals.known_.empty()) return "";
  std::string out =
      "# log(predicted / measured) between which 80 % of left-out rows lie, by class of device, "
      "mode and what was measured.\nintervals:\n";
  for (const auto& [key, interval] : intervals.known_) {
    out += fmt::format("  {}: [{:.4f}, {:.4f}]\n", key, interval.low, interval.high);
  }
  return out;
}

Intervals read_intervals(const YamlView& view) {
  Intervals intervals;
  for (const auto& [key, pair] : view.members()) {
    const std::vector<YamlView> values = pair.items();
    if (values.size() != 2) pair.fail("expected [low, high]");
    intervals.known_[key] = {values[0].number(), values[1].number()};
  }
  return intervals;
}

}  // namespace trainyard::predict
