#include "rl/env/recorded_run.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace trainyard::rl {
namespace {

// [low, high) of recorded arguments: [n], [low, high, count] or [["low", l], ["high", h]].
Draw range_of(const Json& arguments) {
  const Json::Array& items = arguments.items();
  TY_REQUIRE(!items.empty(), "a draw of a whole number without its range");
  if (items.size() == 1) return {.high = items[0].as_int()};
  const auto number = [](const Json& item) {
    return item.is_array() ? item.items().at(1).as_int() : item.as_int();
  };
  return {.low = number(items[0]), .high = number(items[1])};
}

// A plain number, or [kind, arguments, result] with one result or several.
void append_draws(const Json& recorded, std::deque<Draw>& draws) {
  if (recorded.is_number()) {
    draws.push_back({.value = recorded.as_number()});
    return;
  }
  const Json::Array& parts = recorded.items();
  TY_REQUIRE(parts.size() == 3, "a draw is [kind, arguments, result], found {}", recorded.dump(-1));
  Draw draw;
  if (parts[0].as_string() != "rand") draw = range_of(parts[1]);
  const Json::Array one{parts[2]};
  for (const Json& result : parts[2].is_array() ? parts[2].items() : one) {
    draw.value = result.as_number();
    draws.push_back(draw);
  }
}

}  // namespace

bool values_agree(const Json& ours, const Json& theirs, double tolerance, double& worst) {
  bool same = true;
  if (theirs.is_array()) {
    if (!ours.is_array() || ours.items().size() != theirs.items().size()) return false;
    for (size_t i = 0; i < ours.items().size(); ++i) {
      same = values_agree(ours.items()[i], theirs.items()[i], tolerance, worst) && same;
    }
    return same;
  }
  if (theirs.is_object()) {
    for (const auto& [key, value] : theirs.members()) {
      const Json* own = ours.is_object() ? ours.find(key) : nullptr;
      same = own != nullptr && values_agree(*own, value, tolerance, worst) && same;
    }
    return same;
  }
  if (!ours.is_number() || !theirs.is_number()) return ours.dump(-1) == theirs.dump(-1);
  const double difference = std::abs(ours.as_number() - theirs.as_number());
  worst = std::max(worst, difference);
  return difference <= tolerance;
}

RecordedRun::RecordedRun(RecordingCheck& check, Environment& environment, const Json& trajectory)
    : check_(check),
      environment_(environment),
      trajectory_(trajectory),
      observation_(static_cast<size_t>(environment.spec().observation_size())) {}

const Json& RecordedRun::at(const char* key, int64_t t) const {
  const Json::Array& items = field(key).items();
  TY_REQUIRE(static_cast<size_t>(t) < items.size(), "'{}' has {} entries, expected more than {}",
             key, items.size(), t);
  return items[static_cast<size_t>(t)];
}

void RecordedRun::feed(const Json& draws) {
  if (!draws_.empty()) throw_failure("{} recorded draws are left over", draws_.size());
  for (const Json& draw : draws.items()) append_draws(draw, draws_);
  environment_.chance(0).play_back(&draws_);
}

Outcome RecordedRun::step(int64_t t) {
  const int64_t wanted = at("actions", t).as_int();
  TY_REQUIRE(wanted >= 0 && wanted < environment_.spec().actions, "step {}: action {} of {}", t,
             wanted, environment_.spec().actions);
  const auto action = static_cast<int32_t>(wanted);
  Outcome outcome;
  environment_.step({&action, 1}, observation_, {&outcome, 1});
  return outcome;
}

void RecordedRun::begin_episode() {
  environment_.begin_episode(0, observation_);
}

void RecordedRun::note(int64_t t, const std::string& difference) {
  if (difference.empty()) return;
  ++check_.mismatches;
  if (!check_.first.empty()) return;
  check_.first = fmt::format("{}, step {}: {}", field("name").as_string(), t, difference);
}

}  // namespace trainyard::rl
