#include "cluster/schedule/policies/policies.h"

#include <array>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::schedule {
namespace {

using Order = GangOptions::Order;

constexpr std::array<PolicyEntry, 17> kPolicies = {{
    {"optimus", "Optimus: tasks by time saved per dominant resource, on the fewest nodes evenly",
     [] { return make_optimus({}); }},
    {"optimus-balanced", "Optimus as in DL2: by time saved alone, on the least used node",
     [] { return make_balanced_optimus(); }},
    {"optimus-pollux", "Optimus as in Pollux: one node after another, the freest first",
     [] { return make_optimus({.placement = OptimusOptions::Placement::kFreest}); }},
    {"drf", "dominant resource fairness: bundles to the smallest dominant share",
     [] { return make_bundles(BundleOrder::kFair); }},
    {"tetris", "Tetris: node after node by alignment and work left", [] { return make_tetris(); }},
    {"fifo", "in order of arrival, as many bundles as a job may have",
     [] { return make_bundles(BundleOrder::kArrival); }},
    {"srtf", "smallest share of work left first, as many bundles as a job may have",
     [] { return make_bundles(BundleOrder::kShortest); }},
    {"gang-fifo", "gangs in order of arrival, no preemption",
     [] { return make_gang({.order = Order::kArrival}, "gang-fifo"); }},
    {"gang-backfill", "gangs in order of arrival, what fits runs, no preemption",
     [] { return make_gang({.order = Order::kBackfill}, "gang-backfill"); }},
    {"gang-smallest", "gangs with the fewest workers first",
     [] { return make_gang({.order = Order::kSmallest}, "gang-smallest"); }},
    {"gang-srtf", "gangs with the least time left first",
     [] { return make_gang({.order = Order::kShortest}, "gang-srtf"); }},
    {"gang-srsf", "gangs with the least time left times workers first",
     [] { return make_gang({.order = Order::kLeastLeft}, "gang-srsf"); }},
    {"tiresias", "Tiresias' 2D-LAS: three queues of gangs by time run times workers",
     [] { return make_gang({.order = Order::kAttained2d}, "tiresias"); }},
    {"tiresias-pollux", "Tiresias as in Pollux: two queues, at 57,600 GPU seconds",
     [] {
       return make_gang(
           {.order = Order::kAttained2d, .queue_limits = {57'600}, .waiting_last = false},
           "tiresias-pollux");
     }},
    {"gavel-las", "Gavel: max-min fairness over mixed devices, by a linear program",
     [] { return make_gavel(GavelGoal::kFairness); }},
    {"gavel-makespan", "Gavel: least makespan over mixed devices, by a linear program",
     [] { return make_gavel(GavelGoal::kMakespan); }},
    {"gavel-ftf", "Gavel: finish-time fairness over mixed devices, by linear programs",
     [] { return make_gavel(GavelGoal::kFinishTime); }},
}};

}  // namespace

std::span<const PolicyEntry> all_policies() {
  return kPolicies;
}

std::unique_ptr<Policy> make_policy(std::string_view name) {
  std::vector<std::string> names;
  for (const PolicyEntry& entry : kPolicies) {
    if (entry.name == name) return entry.make();
    names.emplace_back(entry.name);
  }
  throw_error("unknown policy '{}'.{} Known: {}", name, did_you_mean(name, names),
              join(names, ", "));
}

}  // namespace trainyard::schedule
