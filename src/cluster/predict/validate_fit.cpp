// The part of Validation that fits.
#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "cluster/predict/validate.h"

namespace trainyard::predict {
namespace {

// A stack with fewer rows of several devices than this exchanges gradients as its family does.
constexpr size_t kOwnExchange = 6;

using RowsByName = std::map<std::string, std::vector<const ScalingRow*>>;

// The stack with another's way of exchanging.
Stack with_exchange(Stack stack, const Stack& other) {
  stack.overlaps = other.overlaps;
  stack.network_share = other.network_share;
  stack.inside_share = other.inside_share;
  stack.pcie_share = other.pcie_share;
  stack.sync = other.sync;
  return stack;
}

// Too few errors say nothing of an interval.
constexpr size_t kLeastErrors = 20;
// And leaving out takes minutes, which a few rows are not worth.
constexpr size_t kEnoughForIntervals = 500;

std::string member_of(const Measurement& row, const Stack& stack, Group group) {
  switch (group) {
    case Group::kNetwork:
      return row.model;
    case Group::kDevice:
      return row.device;
    case Group::kFamily:
      return stack.family;
    case Group::kConfiguration:
      break;
  }
  return fmt::format("{} {} {}", row.framework, row.device, row.model);
}

// What a prediction stands on when a group was left out.
Support support_without(Group group) {
  switch (group) {
    case Group::kNetwork:
      return Support::kStackAndDevice;
    case Group::kDevice:
      return Support::kStack;
    case Group::kFamily:
      return Support::kRelatives;
    case Group::kConfiguration:
      break;
  }
  return Support::kAll;
}

}  // namespace

HierarchicalFit& Validation::fitted() const {
  if (fit_ == nullptr) {
    std::vector<FitRow> rows;
    for (const Item* item : single_) rows.push_back(fit_row(*item));
    fit_ = std::make_unique<HierarchicalFit>(rows, start_);
  }
  return *fit_;
}

const Validation::LeftOut& Validation::left_out(Group group) const {
  if (const auto found = left_out_.find(group); found != left_out_.end()) return found->second;
  LeftOut left;
  std::map<std::string, int> numbers;
  std::map<std::pair<std::string, std::string_view>, std::set<int>> of_stack;
  const auto stack_of = [](const Item& item) {
    return std::pair(item.row->framework, device_class(*item.device));
  };
  for (const Item* item : single_) {
    const std::string name = member_of(*item->row, catalog_.stack(item->row->framework), group);
    const auto number = numbers.try_emplace(name, static_cast<int>(numbers.size())).first->second;
    left.groups.push_back(number);
    of_stack[stack_of(*item)].insert(number);
  }
  // A family has no stack elsewhere; others may have been measured in its precision at least.
  const auto kind_of = [](const Item& item) {
    return std::tuple(device_class(*item.device), item.row->precision, item.row->mode);
  };
  std::map<std::tuple<std::string_view, Precision, Mode>, std::set<int>> of_kind;
  for (size_t i = 0; i < single_.size(); ++i) {
    of_kind[kind_of(*single_[i])].insert(left.groups[i]);
  }
  for (const Item* item : single_) {
    left.supported.push_back(group == Group::kFamily ? of_kind[kind_of(*item)].size() > 1
                                                     : of_stack[stack_of(*item)].size() > 1);
  }
  left.errors = group == Group::kConfiguration ? fitted().errors_left_out(left.groups)
                                               : fitted().errors_refitted(left.groups);
  return left_out_.emplace(group, std::move(left)).first->second;
}

std::vector<GroupedError> Validation::errors_of(Group group, Mode mode,
                                                std::string_view device_class_name) const {
  const LeftOut& left = left_out(group);
  std::vector<GroupedError> errors;
  for (size_t i = 0; i < single_.size(); ++i) {
    const bool wanted = single_[i]->row->mode == mode &&
                        device_class(*single_[i]->device) == device_class_name &&
                        (group == Group::kFamily || left.supported[i]);
    if (wanted) errors.push_back({left.errors[i], left.groups[i]});
  }
  return errors;
}

Intervals Validation::fitted_intervals() const {
  Intervals intervals;
  for (const std::string_view name : {"gpu", "cpu"}) {
    for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
      for (const Group group : kGroups) {
        const std::vector<GroupedError> errors = errors_of(group, mode, name);
        if (errors.size() < kLeastErrors) continue;
        intervals.set(name, mode, support_without(group), interval_of(errors));
      }
    }
  }
  return intervals;
}

std::vector<Validation::Coverage> Validation::coverage() const {
  std::vector<Coverage> out;
  for (const Group group : kGroups) {
    for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
      const std::vector<GroupedError> errors = errors_of(group, mode, "gpu");
      out.push_back({group, mode, static_cast<int64_t>(errors.size()), covered_by_others(errors)});
    }
  }
  return out;
}

DeviceFactors Validation::fitted_factors() const {
  if (start_ == Hierarchy::Start::kCatalog) return catalog_.factors();
  DeviceFactors factors;
  factors.vector_throttle = fitted().throttle(/*matrix_units=*/false);
  factors.matrix_throttle = fitted().throttle(/*matrix_units=*/true);
  factors.feeding = fitted().feeding();
  for (const Item* item : single_) {
    const Device& device = *item->device;
    factors.kinds[device.kind] = {fitted().kind_factor(device, kCompute),
                                  fitted().kind_factor(device, kMemory)};
    factors.devices[device.id] = {fitted().device_factor(device, kCompute),
                                  fitted().device_factor(device, kMemory)};
  }
  return factors;
}

Stack Validation::fitted_figures(Stack stack) const {
  for (auto& [device_class, efficiency] : stack.efficiency) {
    efficiency = fitted().efficiency(stack, device_class);
  }
  std::map<std::string, int> sources;
  stack.rows.clear();
  stack.networks.clear();
  for (const Item& item : items_) {
    if (item.row->framework != stack.id) continue;
    ++sources[item.row->origin.substr(0, item.row->origin.rfind(':'))];
    if (!on_one_device(item.subject)) continue;
    stack.networks.insert(item.row->model);
    ++stack.rows[fmt::format("{}/{}", item.device->id, precision_name(item.row->precision))];
    // The catalog's own factors of the device stay as they are; what rows of one's own say of it
    // beyond them goes to the stack.
    const bool own = start_ == Hierarchy::Start::kCatalog;
    const double beyond = own ? fitted().kind_factor(*item.device, kCompute) *
                                    fitted().device_factor(*item.device, kCompute)
                              : 1;
    stack.device_factor[item.device->id] =
        beyond * fitted().pair_factor(stack, *item.device, kCompute);
    stack.host_factor[item.device->id] = fitted().pair_factor(stack, *item.device, kHost);
  }
  stack.fitted_to.clear();
  for (const auto& [source, rows] : sources) {
    if (!stack.fitted_to.empty()) stack.fitted_to += "; ";
    stack.fitted_to += fmt::format("{} rows of {}", rows, source);
  }
  return stack;
}

void Validation::fit_exchanges(Catalog& fitted) const {
  std::vector<ScalingRow> rows;
  rows.reserve(items_.size());
  RowsByName by_stack;
  RowsByName by_family;
  for (const Item& item : items_) {
    const bool given =
        item.subject == MeasuredTask::kScaling || item.subject == MeasuredTask::kOneProcess;
    if (!given) continue;
    const Stack& stack = fitted.stack(item.row->framework);
    const ScalingRow& row = rows.emplace_back(scaling_row(item, fitted));
    by_stack[stack.id].push_back(&row);
    by_family[stack.family].push_back(&row);
  }
  std::map<std::string, Stack> families;
  for (const auto& [family, members] : by_family) {
    families.emplace(family, fit_exchange(*members.front()->stack, members));
  }
  std::vector<Stack> done;
  for (const Stack& stack : fitted.stacks()) {
    if (stack.measured != nullptr) continue;
    const std::vector<const ScalingRow*>& own = by_stack[stack.id];
    const auto family = families.find(stack.family);
    Stack start =
        family != families.end() ? with_exchange(stack, family->second) : fit_exchange(stack, {});
    done.push_back(own.size() >= kOwnExchange ? fit_exchange(std::move(start), own) : start);
  }
  for (Stack& stack : done) fitted.replace(std::move(stack));
}

Catalog Validation::fit() const {
  Catalog result = catalog_;
  const auto mine = [&](const Stack& stack) {
    return std::any_of(items_.begin(), items_.end(),
                       [&](const Item& item) { return item.row->framework == stack.id; });
  };
  for (const Stack& stack : catalog_.stacks()) {
    const bool concerned = start_ == Hierarchy::Start::kRelatives || mine(stack);
    if (stack.measured == nullptr && concerned) result.replace(fitted_figures(stack));
  }
  result.set_factors(fitted_factors());
  if (start_ == Hierarchy::Start::kRelatives && single_.size() >= kEnoughForIntervals) {
    result.set_intervals(fitted_intervals());
  }
  fit_exchanges(result);
  return result;
}

std::vector<Validation::Figure> Validation::figures(const Stack& stack) const {
  std::vector<Figure> out;
  for (const auto& [device_class, unused] : stack.efficiency) {
    const Efficiency efficiency = fitted().efficiency(stack, device_class);
    for (size_t field = 0; field < kFields; ++field) {
      const EfficiencyField& named = efficiency_fields()[field];
      out.push_back({named.name, device_class, efficiency.*named.value,
                     fitted().certainty(stack, device_class, field)});
    }
  }
  return out;
}

}  // namespace trainyard::predict
