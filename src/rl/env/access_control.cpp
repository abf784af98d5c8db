// AccessControl-v1: customers queue for ten servers; no episode ever ends. Sutton and Barto,
// example 10.2.
#include <algorithm>

#include "rl/env/copies.h"
#include "rl/env/grid.h"

namespace trainyard::rl {
namespace {

constexpr int64_t kServers = 10;
constexpr double kPays[] = {1, 2, 4, 8};  // what the customer at the head of the queue pays
constexpr int64_t kCustomers = 4;
constexpr double kDone = 0.06;  // chance that a busy server is free after a step
// A row for each number of free servers, a column for each kind of customer.
constexpr Grid kQueueGrid{kServers + 1, kCustomers};

struct AccessControl {
  explicit AccessControl(const EnvOptions& /*options*/) {}

  EnvSpec spec() const {
    return {.name = "AccessControl-v1",
            .shape = {kQueueGrid.cells()},
            .actions = 2,
            .encoding = Encoding::kCell,
            .continuing = true};
  }

  void reset(EventStream& chance) {
    now.row = kServers;
    now.column = chance.between(0, kCustomers);
  }

  // Turn away, accept. Without a free server everybody is turned away.
  Outcome step(int32_t action, EventStream& chance) {
    const bool accepted = action == 1 && now.row > 0;
    const double paid = accepted ? kPays[now.column] : 0;
    if (accepted) --now.row;
    const int64_t busy = kServers - now.row;
    for (int64_t i = 0; i < busy; ++i) now.row += chance.uniform() < kDone ? 1 : 0;
    now.column = chance.between(0, kCustomers);
    return {.reward = static_cast<float>(paid)};
  }

  void observe(float* to) const { one_hot(kQueueGrid.number(now), kQueueGrid.cells(), to); }
  Json state() const { return kQueueGrid.number(now); }
  void set_state(const Json& state) {
    now = kQueueGrid.at(read_cell(state, kQueueGrid, "AccessControl"));
  }

  Cell now{kServers, 0};
};

void draw_queue(Canvas& canvas, std::span<const float> observation) {
  for (int64_t cell = 0; cell < kQueueGrid.cells(); ++cell) {
    fill_cell(canvas, kQueueGrid, cell, kSoft);
  }
  draw_walker(canvas, kQueueGrid, hot_cell(observation));
}

}  // namespace

extern const EnvironmentDef kAccessControl = {
    .name = "AccessControl-v1",
    .summary = "accept customers who pay 1, 2, 4 or 8, or keep one of 10 servers free",
    .source = "Sutton, Barto: Reinforcement Learning, 2nd edition, example 10.2",
    .threshold = kNoThreshold,
    .make = make_copies<AccessControl>,
    .draw = draw_queue,
};

}  // namespace trainyard::rl
