#include "train/execution_view.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/error.h"
#include "engine/host_nodes.h"
#include "engine/kernels/parallel/parallel.h"
#include "models/network.h"

namespace trainyard::cli {
namespace {

// More than any machine has: a mistake, refused before the system runs out of threads.
constexpr int64_t kMostThreads = 1024;

std::string refusals_text(const runtime::StepInfo& step) {
  std::string text;
  for (const runtime::Refusal& refusal : step.refusals) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", refusal.library, refusal.reason);
  }
  return text;
}

double rate(int64_t flops, double seconds) {
  return seconds > 0 ? static_cast<double>(flops) / seconds * 1e-9 : 0;
}

// Billions of operations a second that the machine could do of a step's kind.
// Bytes and bf16 have peaks of their own, which are higher.
double peak_of(const runtime::StepInfo& step, const runtime::MachinePeak& peak) {
  if (step.op == "QuantizedConv" && peak.int8_gops > 0) return peak.int8_gops;
  if (step.precision == kernels::Precision::kBf16) return peak.bf16_gflops;
  return peak.gflops;
}

struct Sum {
  int64_t nodes = 0;
  int64_t flops = 0;
  double seconds = 0;
  double at_peak_s = 0;
};

// The least time that a step could take on this machine.
struct Bound {
  double compute_s = 0;
  double memory_s = 0;  // if all its operands came from memory and went there

  double seconds() const { return std::max(compute_s, memory_s); }
};

Bound bound_of(const runtime::StepInfo& step, const runtime::MachinePeak& peak) {
  return {.compute_s = static_cast<double>(step.cost.flops) / (peak_of(step, peak) * 1e9),
          .memory_s = static_cast<double>(step.cost.bytes_read + step.cost.bytes_written) /
                      (peak.memory_gb_per_s * 1e9)};
}

// The steps that take most of the time, the longest first, until they have `share` of it.
std::vector<size_t> longest_steps(const std::vector<double>& seconds, double share) {
  std::vector<size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds[a] > seconds[b]; });
  const double enough = share * std::accumulate(seconds.begin(), seconds.end(), 0.0);
  double sum = 0;
  size_t count = 0;
  while (count < order.size() && sum < enough) sum += seconds[order[count++]];
  order.resize(count);
  return order;
}

}  // namespace

int resolve_threads(int64_t flag) {
  TY_REQUIRE(0 <= flag && flag <= kMostThreads, "`threads` is {}, expected 0 to {}", flag,
             kMostThreads);
  return flag == 0 ? kernels::available_cores() : static_cast<int>(flag);
}

int64_t require_iterations(int64_t flag) {
  TY_REQUIRE(flag >= 1, "`max_iterations` is {}, expected 1 or more", flag);
  return flag;
}

// Said wherever results could be mistaken for a trained network's.
void add_weights_notice(report::Document& document, const Graph& graph) {
  const bool random = network::has_random_weights(graph);
  document.data["weights"] = random ? "random" : "given";
  if (!random) return;
  document.blocks.emplace_back(report::Paragraph{
      "The weights are random: times are real, results mean nothing. `weights` F.safetensors, an "
      ".onnx file or a run directory brings trained ones."});
}

void add_slow_notice(report::Document& document, const runtime::Executable& executable,
                     const runtime::Profile& profile) {
  constexpr double kWorthSaying = 0.05;
  constexpr double kSeconds = 1e-4;  // less is nobody's wait
  const std::vector<double> seconds = profile.step_seconds();
  const double whole_s = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  double all = 0;
  std::string names;
  for (const runtime::ReferenceShare& row : runtime::reference_shares(executable, profile)) {
    all += row.share;
    if (row.share < 0.1 * kWorthSaying) continue;
    names += fmt::format("{}{} {:.0f} %", names.empty() ? "" : ", ", row.op, row.share * 100);
  }
  document.data["reference_share"] = all;
  if (all < kWorthSaying || all * whole_s < kSeconds) return;
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "Reference kernels, which are slow, took {:.0f} % of the time: {}. `explain` says why no "
      "other kernel computes these nodes.",
      all * 100, names)});
}

void add_host_nodes(report::Document& document, const runtime::Executable& executable) {
  const std::string text = runtime::host_nodes_text(executable);
  if (text.empty()) return;
  document.blocks.emplace_back(report::Paragraph{"warning: " + text + "."});
  Json nodes = Json::array();
  for (const runtime::HostNodes& each : runtime::nodes_left_to_host(executable)) {
    nodes.push_back(
        Json::object({{"operator", each.op}, {"nodes", each.count}, {"reason", each.reason}}));
  }
  document.data["on_processors"] = std::move(nodes);
}

void add_explanation(report::Document& document, const runtime::Executable& executable) {
  report::Table table({{"node", report::Align::kLeft, 40},
                       {"operator", report::Align::kLeft},
                       {"kernel", report::Align::kLeft},
                       {"result", report::Align::kLeft},
                       {"refused", report::Align::kLeft, 100}});
  Json steps = Json::array();
  for (const runtime::StepInfo& step : executable.steps()) {
    table.add_row({step.node, step.op, step.kernel, step.output, refusals_text(step)});
    Json refusals = Json::array();
    for (const runtime::Refusal& refusal : step.refusals) {
      refusals.push_back(Json::object({{"library", refusal.library}, {"reason", refusal.reason}}));
    }
    steps.push_back(Json::object({{"node", step.node},
                                  {"operator", step.op},
                                  {"kernel", step.kernel},
                                  {"result", step.output},
                                  {"refused", std::move(refusals)}}));
  }
  document.blocks.emplace_back(report::Heading{"Kernels"});
  document.blocks.emplace_back(std::move(table));
  document.data["steps"] = std::move(steps);
}

void add_profile(report::Document& document, const runtime::Executable& executable,
                 const runtime::Profile& profile, const runtime::MachinePeak& peak) {
  // Mean over the runs that were profiled.
  const std::vector<double> seconds = profile.step_seconds();
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::map<std::string, Sum> kinds;
  report::Table nodes({{"node", report::Align::kLeft, 40},
                       {"operator", report::Align::kLeft},
                       {"kernel", report::Align::kLeft},
                       {"result", report::Align::kLeft, 44},
                       {"time"},
                       {"share"},
                       {"GFLOP/s"},
                       {"of peak"}});
  Json rows = Json::array();
  for (size_t i = 0; i < seconds.size(); ++i) {
    const runtime::StepInfo& step = executable.steps()[i];
    // Takes no time, and a row of zeros would hide those that do.
    if (step.kernel == "view") continue;
    Sum& sum = kinds[step.op + " (" + step.kernel + ")"];
    sum.nodes += 1;
    sum.at_peak_s += bound_of(step, peak).compute_s;
    sum.flops += step.cost.flops;
    sum.seconds += seconds[i];
    const double gflops = rate(step.cost.flops, seconds[i]);
    nodes.add_row({step.node, step.op, step.kernel, step.output, report::seconds_cell(seconds[i]),
                   report::percent_cell(seconds[i] / total), report::fixed_cell(gflops, 1),
                   report::percent_cell(gflops / peak_of(step, peak))});
    rows.push_back(Json::object({{"node", step.node},
                                 {"operator", step.op},
                                 {"kind", ops::kind_name(step.kind)},
                                 {"kernel", step.kernel},
                                 {"seconds", seconds[i]},
                                 {"gflops", gflops},
                                 {"share_of_peak", gflops / peak_of(step, peak)}}));
  }
  std::vector<std::pair<std::string, Sum>> order(kinds.begin(), kinds.end());
  std::sort(order.begin(), order.end(),
            [](const auto& a, const auto& b) { return a.second.seconds > b.second.seconds; });
  report::Table by_kind({{"operator (kernel)", report::Align::kLeft},
                         {"nodes"},
                         {"time"},
                         {"share"},
                         {"GFLOP/s"},
                         {"of peak"}});
  for (const auto& [name, sum] : order) {
    const double gflops = rate(sum.flops, sum.seconds);
    by_kind.add_row({name, report::count_cell(sum.nodes), report::seconds_cell(sum.seconds),
                     report::percent_cell(sum.seconds / total), report::fixed_cell(gflops, 1),
                     report::percent_cell(sum.at_peak_s / sum.seconds)});
  }
  document.blocks.emplace_back(report::Heading{"Time by node (mean of the measured runs)"});
  document.blocks.emplace_back(std::move(nodes));
  document.blocks.emplace_back(report::Heading{"Time by operator and kernel"});
  document.blocks.emplace_back(std::move(by_kind));
  document.data["profile"] = std::move(rows);
}

void add_roofline(report::Document& document, const runtime::Executable& executable,
                  const runtime::Profile& profile, const runtime::MachinePeak& peak) {
  constexpr double kMost = 0.8;
  const std::vector<double> seconds = profile.step_seconds();
  const double total = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  report::Table table({{"node", report::Align::kLeft, 40},
                       {"operator (kernel)", report::Align::kLeft, 44},
                       {"time"},
                       {"share"},
                       {"least time"},
                       {"bound by", report::Align::kLeft},
                       {"of roofline"}});
  Json rows = Json::array();
  double taken = 0;
  double least = 0;
  const std::vector<size_t> longest = longest_steps(seconds, kMost);
  for (const size_t i : longest) {
    const runtime::StepInfo& step = executable.steps()[i];
    const Bound bound = bound_of(step, peak);
    const char* by = bound.compute_s > bound.memory_s ? "operations" : "memory";
    table.add_row({step.node, step.op + " (" + step.kernel + ")", report::seconds_cell(seconds[i]),
                   report::percent_cell(seconds[i] / total), report::seconds_cell(bound.seconds()),
                   by, report::percent_cell(bound.seconds() / seconds[i])});
    rows.push_back(Json::object({{"node", step.node},
                                 {"operator", step.op},
                                 {"kernel", step.kernel},
                                 {"seconds", seconds[i]},
                                 {"least_seconds", bound.seconds()},
                                 {"bound", by},
                                 {"share_of_roofline", bound.seconds() / seconds[i]}}));
    taken += seconds[i];
    least += bound.seconds();
  }
  document.blocks.emplace_back(report::Heading{"Roofline of the nodes that hold 80 % of the time"});
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "{} of {} nodes hold {:.0f} % of the time and run at {:.0f} % of their roofline: {:.1f} "
      "GFLOP/s{} and {:.1f} GB/s, measured. Operands that stay in caches may exceed memory's, and "
      "Winograd's kernels the operations'.",
      longest.size(), executable.steps().size(), 100 * taken / total, 100 * least / taken,
      peak.gflops, peak.bf16_gflops > 0 ? fmt::format(" ({:.1f} in bf16)", peak.bf16_gflops) : "",
      peak.memory_gb_per_s)});
  document.blocks.emplace_back(std::move(table));
  document.data["roofline"] = Json::object({{"share_of_time", taken / total},
                                            {"share_of_roofline", least / taken},
                                            {"nodes", std::move(rows)}});
}

// The time if every operation ran at the peak of its kind: what "of peak" is relative to.
double seconds_at_peak(const runtime::Executable& executable, const runtime::MachinePeak& peak) {
  double seconds = 0;
  for (const runtime::StepInfo& step : executable.steps()) {
    seconds += bound_of(step, peak).compute_s;
  }
  return seconds;
}

runtime::MachinePeak higher_of(const runtime::MachinePeak& a, const runtime::MachinePeak& b) {
  return {.gflops_one_thread = std::max(a.gflops_one_thread, b.gflops_one_thread),
          .gflops = std::max(a.gflops, b.gflops),
          .int8_gops = std::max(a.int8_gops, b.int8_gops),
          .bf16_gflops = std::max(a.bf16_gflops, b.bf16_gflops),
          .memory_gb_per_s = std::max(a.memory_gb_per_s, b.memory_gb_per_s)};
}

runtime::MachinePeak peak_above(const runtime::Executable& executable, double seconds) {
  constexpr int kMostTimes = 3;
  runtime::MachinePeak peak = runtime::measure_peak(executable.threads());
  for (int i = 1; i < kMostTimes && seconds_at_peak(executable, peak) > seconds; ++i) {
    peak = higher_of(peak, runtime::measure_peak(executable.threads()));
  }
  return peak;
}

std::string above_peak_note(double share) {
  if (share <= 1) return "";
  return "More than the peak that was measured just now: other programs ran while it was, or "
         "kernels "
         "need fewer operations than are counted (Winograd).";
}

}  // namespace trainyard::cli
