#include "cluster/jobs/description/machines.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::jobs {
namespace {

std::vector<Machine> rented_machines() {
  std::vector<Machine> all;
  for (const Machine& machine : predict::built_in_instances()) {
    if (!machine.service.empty()) all.push_back(machine);
  }
  return all;
}

bool enough(const Machine& machine, const Job& job) {
  return machine.vcpus >= static_cast<double>(job.cpus) &&
         machine.ram_gib >= static_cast<double>(job.memory_gib);
}

// "1 (ml.p3.2xlarge), 4 (ml.p3.8xlarge)"
std::string counts_there_are(const Job& job, std::string_view platform) {
  std::vector<std::string> words;
  std::set<double> seen;
  for (const Machine& machine : machines()) {
    const bool here =
        machine.service == platform || machine.service == std::string(platform) + "-attach";
    if (!here || machine.accelerator != job.accelerator || !machine.count) continue;
    if (seen.insert(*machine.count).second) {
      words.push_back(fmt::format("{:g} ({})", *machine.count, machine.name));
    }
  }
  return join(words, ", ");
}

void check_count(const Job& job, const Machine& machine, std::string_view title) {
  if (!machine.count || machine.native == "attach") return;
  if (machine.accelerator != job.accelerator && !job.accelerator.empty()) {
    job.fail("machine.accelerator",
             fmt::format("{} wanted, but {} of {} has {}", job.accelerator, machine.name, title,
                         machine.accelerator.empty() ? "none" : machine.accelerator));
  }
  if (job.count > 0 && *machine.count != static_cast<double>(job.count)) {
    job.fail("machine.count", fmt::format("{} {} wanted, but {} of {} has {:g}", job.count,
                                          job.accelerator, machine.name, title, *machine.count));
  }
}

// Names the field to change, and what the platform has instead: the accelerator, its number, or the
// size of a machine without one.
[[noreturn]] void nothing_fits(const Job& job, std::string_view platform, std::string_view title) {
  if (job.accelerator.empty()) {
    job.fail(
        job.cpus > 0 ? "machine.cpus" : "machine.memory_gib",
        fmt::format("{} has no machine with {} CPUs and {} GiB", title, job.cpus, job.memory_gib));
  }
  const std::string there = counts_there_are(job, platform);
  if (there.empty()) {
    std::set<std::string> kinds;
    for (const Machine& machine : machines()) {
      if (machine.service == platform && !machine.accelerator.empty()) {
        kinds.insert(machine.accelerator);
      }
    }
    const std::vector<std::string> names(kinds.begin(), kinds.end());
    job.fail("machine.accelerator",
             fmt::format("{} has no {}; it has {}.{}", title, job.accelerator, join(names, ", "),
                         did_you_mean(job.accelerator, names)));
  }
  job.fail("machine.count",
           fmt::format("{} has no machine with {} {} and {} CPUs, {} GiB; "
                       "machines with this accelerator have {}",
                       title, job.count, job.accelerator, job.cpus, job.memory_gib, there));
}

}  // namespace

std::span<const Machine> machines() {
  static const std::vector<Machine> kAll = rented_machines();
  return kAll;
}

const Machine* find_machine(std::string_view platform, std::string_view name) {
  for (const Machine& machine : machines()) {
    if (machine.service == platform && machine.name == name) return &machine;
  }
  return nullptr;
}

std::vector<std::string> machine_names(std::string_view platform) {
  std::vector<std::string> names;
  for (const Machine& machine : machines()) {
    if (machine.service == platform) names.push_back(machine.name);
  }
  return names;
}

std::vector<std::string> accelerator_names() {
  std::set<std::string> names;
  for (const Machine& machine : machines()) {
    if (!machine.accelerator.empty()) names.insert(machine.accelerator);
  }
  return {names.begin(), names.end()};
}

void require_known_accelerator(const Job& job) {
  if (job.accelerator.empty()) return;
  const std::vector<std::string> names = accelerator_names();
  if (std::find(names.begin(), names.end(), job.accelerator) == names.end()) {
    job.fail("machine.accelerator",
             fmt::format("no platform has '{}'.{} There are {}", job.accelerator,
                         did_you_mean(job.accelerator, names), join(names, ", ")));
  }
}

// The smallest first, and exactly as many accelerators as asked for: more would be paid for and
// stand idle. Google attaches some accelerators to machines of any size.
std::vector<const Machine*> fitting_machines(const Job& job, std::string_view platform) {
  bool attachable = false;
  for (const Machine& machine : machines()) {
    attachable = attachable || (machine.service == std::string(platform) + "-attach" &&
                                machine.accelerator == job.accelerator &&
                                machine.whole_count() == job.count && job.count > 0);
  }
  std::vector<const Machine*> fitting;
  for (const Machine& machine : machines()) {
    if (machine.service != platform || !enough(machine, job)) continue;
    const bool own = machine.accelerator == job.accelerator && machine.count &&
                     *machine.count == static_cast<double>(job.count) && machine.vcpus > 0;
    const bool attached = attachable && predict::takes_accelerators(machine);
    if (own || attached) fitting.push_back(&machine);
  }
  std::stable_sort(fitting.begin(), fitting.end(), [](const Machine* a, const Machine* b) {
    return a->vcpus != b->vcpus ? a->vcpus < b->vcpus : a->ram_gib < b->ram_gib;
  });
  return fitting;
}

const Machine& choose_machine(const Job& job, std::string_view platform, std::string_view title,
                              std::string_view option) {
  const std::string named = job.option(platform, option);
  if (!named.empty()) {
    const Machine* machine = find_machine(platform, named);
    if (machine == nullptr) {
      job.fail(fmt::format("platforms.{}.{}", platform, option),
               fmt::format("{} has no machine '{}'.{}", title, named,
                           did_you_mean(named, machine_names(platform))));
    }
    check_count(job, *machine, title);
    return *machine;
  }
  const std::vector<const Machine*> fitting = fitting_machines(job, platform);
  if (fitting.empty()) nothing_fits(job, platform, title);
  return *fitting.front();
}

}  // namespace trainyard::jobs
