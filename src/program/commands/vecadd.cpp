// `trainyard vecadd`: vector operations on the host and on devices, phase by phase.
#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "cluster/predict/catalog.h"
#include "engine/device/printed_rows.h"
#include "engine/device/vector_target.h"
#include "engine/device/view.h"
#include "program/command.h"
#include "program/progress_line.h"
#include "studies/calibration/vector_prediction.h"

namespace trainyard::cli {
namespace {

struct VecAddOptions {
  std::string sizes = "1M,5M,10M,50M,100M";
  std::string device = "all";
  std::string operations = "add";
  std::string launches = "1x1,1x256,Nx256";
  std::string memory = "both";
  std::string predict = "k80,p100,v100,a100,h100";
  std::string printed = "none";
  double seconds = 1;
  report::Format format = report::Format::kText;
};

using Targets = std::vector<std::unique_ptr<device::VectorTarget>>;

// Elements in powers of 1000: 500K, 1M, 2G.
int64_t parse_elements(const std::string& text) {
  std::string_view unit = text;
  const auto number = take_number<int64_t>(unit);
  const int64_t factor = unit.empty()  ? 1
                         : unit == "K" ? 1'000
                         : unit == "M" ? 1'000'000
                         : unit == "G" ? 1'000'000'000
                                       : 0;
  TY_REQUIRE(number && factor > 0 && *number > 0 && *number <= INT64_MAX / 64 / factor,
             "--sizes: '{}' is no number of elements above 0; expected as 5000, 500K, 10M, 1G",
             text);
  return *number * factor;
}

std::vector<std::string> chosen(const std::string& text, const std::vector<std::string>& all,
                                const char* flag) {
  std::vector<std::string> names = split(text, ',');
  for (const std::string& name : names) {
    TY_REQUIRE(std::find(all.begin(), all.end(), name) != all.end(),
               "{}: unknown '{}'; there are {}.{}", flag, name, join(all, ", "),
               did_you_mean(name, all));
  }
  return names;
}

struct VectorPlan {
  std::vector<device::VectorOp> operations;
  std::vector<int64_t> sizes;
  std::vector<std::string> launches;
  std::vector<std::string> memories;
};

VectorPlan plan_of(const VecAddOptions& options) {
  VectorPlan plan;
  for (const std::string& size : split(options.sizes, ',')) {
    plan.sizes.push_back(parse_elements(size));
  }
  for (const std::string& name : split(options.operations, ',')) {
    plan.operations.push_back(device::vector_op_from_name(name));
  }
  plan.launches = chosen(options.launches, {"1x1", "1x256", "Nx256"}, "--launch");
  plan.memories = options.memory == "both" ? std::vector<std::string>{"copies", "unified"}
                                           : std::vector<std::string>{options.memory};
  return plan;
}

bool wanted(const VectorPlan& plan, const std::string& memory, const std::string& launch) {
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  return memory == "host" || (has(plan.memories, memory) && has(plan.launches, launch));
}

// Every case that the target can do and the plan wants.
std::vector<device::VectorCase> cases_of(const VectorPlan& plan, const device::VectorTarget& target,
                                         device::VectorOp op, int64_t elements) {
  std::vector<device::VectorCase> cases;
  for (const auto& [memory, sharing] : target.memories()) {
    for (const std::string& launch : target.launches(op)) {
      if (wanted(plan, memory, launch)) cases.push_back({op, elements, launch, memory, sharing});
    }
  }
  return cases;
}

void require_memory(const VectorPlan& plan, const Targets& targets) {
  for (const auto& target : targets) {
    for (const device::VectorOp op : plan.operations) {
      for (const int64_t elements : plan.sizes) {
        for (const device::VectorCase& what : cases_of(plan, *target, op, elements)) {
          device::require_vector_memory(*target, what);
        }
      }
    }
  }
}

// The bandwidth that each target's memory reaches, into its rows; returns the host's. It comes
// after the rows, so that a device that fails is reported at once.
double add_limits(std::vector<device::VectorRow>& rows, const Targets& targets, double seconds) {
  const auto host = device::make_host_target();
  const double limit = device::measure_limit(*host, seconds);
  std::map<std::string, double> limits;
  for (const auto& target : targets) {
    limits[target->name()] =
        target->shares_host_memory() ? limit : device::measure_limit(*target, seconds);
  }
  for (device::VectorRow& row : rows) {
    if (row.origin == device::VectorOrigin::kPredicted) continue;
    // Rows that other programs printed may be of another machine.
    const auto found = limits.find(row.device);
    if (found != limits.end()) row.limit_bytes_per_s = found->second;
  }
  return limit;
}

int vecadd_command(const VecAddOptions& options, std::ostream& out) {
  const VectorPlan plan = plan_of(options);
  const predict::Catalog catalog = predict::Catalog::load({});
  std::vector<const predict::Device*> predicted;
  if (options.predict != "none") {
    for (const std::string& id : split(options.predict, ',')) {
      predicted.push_back(&catalog.device(id));
    }
  }
  std::vector<device::VectorRow> printed;
  if (options.printed != "none") {
    for (const std::string& file : split(options.printed, ',')) {
      const auto more = device::read_printed_rows(file);
      printed.insert(printed.end(), more.begin(), more.end());
    }
  }
  const Targets targets = device::find_vector_targets(options.device);
  require_memory(plan, targets);

  ProgressLine line;
  std::vector<device::VectorRow> rows;
  const double steps = static_cast<double>(plan.operations.size() * plan.sizes.size());
  double done = 0;
  for (const device::VectorOp op : plan.operations) {
    for (const int64_t elements : plan.sizes) {
      line.show(done++ / steps, fmt::format("{} of {}", device::vector_op_name(op),
                                            si(static_cast<double>(elements))));
      for (const auto& target : targets) {
        for (const device::VectorCase& what : cases_of(plan, *target, op, elements)) {
          rows.push_back(device::time_vector_case(*target, what, options.seconds));
        }
      }
      for (const predict::Device* gpu : predicted) {
        for (const std::string& memory : plan.memories) {
          for (const std::string& launch : plan.launches) {
            rows.push_back(measure::predict_vector_case(*gpu, {op, elements, launch, memory}));
          }
        }
      }
    }
  }
  rows.insert(rows.end(), printed.begin(), printed.end());
  line.show(1, "bandwidth of memory");
  const double limit = add_limits(rows, targets, options.seconds);
  out << report::render(report::vector_rows_document(rows, limit), options.format);
  const auto wrong = [](const device::VectorRow& row) {
    return row.origin != device::VectorOrigin::kPredicted && !row.timing.verified;
  };
  return std::any_of(rows.begin(), rows.end(), wrong) ? 1 : 0;
}

Runner setup_vecadd(Args& args) {
  auto options = std::make_shared<VecAddOptions>();
  args.option("--sizes", options->sizes, "elements of a vector, as 500K,1M,100M (powers of 1000)");
  args.option("--device", options->device,
              "cpu, opencl, cuda (every device of the kind), all, or a part of a name");
  args.option("--operations", options->operations, "some of copy, scale, add, triad, dot");
  args.option("--launch", options->launches,
              "groups x work-items on devices: some of 1x1, 1x256, Nx256");
  args.choice("--memory", options->memory, {"copies", "unified", "both"},
              "how vectors reach a device and come back");
  args.option("--predict", options->predict, "catalog devices to predict for, or none");
  args.option("--printed", options->printed,
              "files with the output of the programs in examples/vector_add, or none");
  args.option("--seconds", options->seconds,
              "time limit per row; longer kernels are timed on fewer elements and extrapolated",
              between(0.001, 3600));
  args.format(options->format);
  return [options](std::ostream& out) { return vecadd_command(*options, out); };
}

}  // namespace

extern const Command kVecAdd = {
    .name = "vecadd",
    .group = "Run",
    .summary = "Time vector operations on host and devices, phase by phase",
    .examples =
        "  trainyard vecadd --sizes 1M,5M,10M,50M,100M\n"
        "  trainyard vecadd --device cpu --operations copy,scale,add,triad,dot --sizes 50M\n"
        "  trainyard vecadd --device opencl --launch 1x256,Nx256 --memory copies --json\n",
    .setup = setup_vecadd,
};

}  // namespace trainyard::cli
