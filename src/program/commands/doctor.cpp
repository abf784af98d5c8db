// `trainyard doctor`: what this machine has, what is missing and what to do about it.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/machine_facts.h"
#include "base/text.h"
#include "cluster/predict/catalog.h"
#include "cluster/predict/this_machine.h"
#include "data/dataset.h"
#include "engine/device/device_list.h"
#include "engine/kernels/parallel/parallel.h"
#include "program/command.h"
#include "report/html.h"

namespace trainyard::cli {
namespace {

// Good, something is slower or missing, or it does not matter here.
enum class Health : uint8_t { kGood, kLack, kNote };

struct Finding {
  std::string what;
  Health health = Health::kGood;
  std::string found;
  std::string advice = {};
};

std::string_view health_name(Health health) {
  switch (health) {
    case Health::kGood:
      return "ok";
    case Health::kLack:
      return "missing";
    case Health::kNote:
      return "note";
  }
  return "";
}

// As a shell would find it.
std::optional<std::string> on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path != nullptr ? path : "", ':')) {
    const std::filesystem::path file = std::filesystem::path(folder) / program;
    if (access(file.c_str(), X_OK) == 0) return file.string();
  }
  return {};
}

// By what the processor can do, not by its name.
Finding processor() {
  Finding finding{.what = "processor", .found = machine_facts().at("processor").as_string()};
#if defined(__x86_64__)
  const bool vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  finding.found += vectors ? ", AVX2 and FMA" : ", no AVX2";
  if (__builtin_cpu_supports("avx512f")) finding.found += ", AVX-512";
#else
  const bool vectors = false;
#endif
  if (!vectors) {
    finding.health = Health::kLack;
    finding.advice = "the fast kernels need AVX2 and FMA; oneDNN's and the reference run instead";
  }
  return finding;
}

Finding threads() {
  const int cores = kernels::available_cores();
  Finding finding{.what = "threads", .found = fmt::format("{} cores for this process", cores)};
  if (const char* limit = std::getenv("OMP_NUM_THREADS")) {
    finding.found += fmt::format(", OMP_NUM_THREADS={}", limit);
  }
  return finding;
}

Finding memory() {
  const double bytes = machine_facts().at("memory_bytes").as_number();
  constexpr double kEnough = 4e9;
  Finding finding{.what = "memory", .found = bytes_text(bytes)};
  if (bytes < kEnough) {
    finding.health = Health::kLack;
    finding.advice = "large networks need small batches here; see 'analyze MODEL --view memory'";
  }
  return finding;
}

Finding tool(const std::string& what, const std::string& program, const std::string& advice) {
  if (const auto path = on_path(program)) return {.what = what, .found = *path};
  return {.what = what, .health = Health::kLack, .found = "no " + program, .advice = advice};
}

Finding fashion_mnist() {
  try {
    const auto data = data::open_dataset("fashion-mnist", data::Split::kTest);
    return {.what = "Fashion-MNIST", .found = data->source()};
  } catch (const Error& error) {
    return {.what = "Fashion-MNIST",
            .health = Health::kLack,
            .found = "not found",
            .advice = "apt install dataset-fashion-mnist; the tour and the labs train on it"};
  }
}

Finding charts() {
  if (!report::web_script().empty()) {
    return {.what = "charts in reports", .found = "built in"};
  }
  return {.what = "charts in reports",
          .health = Health::kLack,
          .found = "this build shows tables instead",
          .advice = "apt install nodejs npm, then build again"};
}

Finding calibration() {
  const predict::Catalog catalog = predict::Catalog::load({});
  for (const predict::Device& device : catalog.devices()) {
    if (device.id == predict::kThisMachine) {
      return {.what = "calibration", .found = device.name};
    }
  }
  return {.what = "calibration",
          .health = Health::kNote,
          .found = "this machine is not measured yet",
          .advice = "'trainyard calibrate' lets 'predict --device this' work"};
}

// The devices of a kind, or what keeps it from having any.
Finding accelerator(const device::DeviceList& list, device::Backend backend,
                    const std::string& what, const std::string& missing) {
  Finding finding{.what = what, .health = Health::kNote, .found = missing};
  for (const device::DeviceInfo& info : list.devices) {
    if (info.backend != backend) continue;
    finding.found += (finding.found.empty() ? "" : "; ") + info.name;
  }
  finding.advice = missing.empty() ? "'device check' tries its kernels; '--device' uses them"
                                   : "networks run on the processor; GPUs can be predicted";
  return finding;
}

int doctor_command(const report::Format& format, std::ostream& out) {
  // Once, as it opens the drivers of all devices.
  const device::DeviceList devices = device::list_devices();
  const std::vector<Finding> findings = {
      processor(),
      threads(),
      memory(),
      tool("several processes", "mpirun", "apt install openmpi-bin, for --workers"),
      fashion_mnist(),
      calibration(),
      charts(),
      tool("Node", "node", "apt install nodejs npm; only building the charts of reports needs it"),
      accelerator(devices, device::Backend::kOpenCl, "OpenCL", devices.opencl_missing),
      accelerator(devices, device::Backend::kCuda, "CUDA", devices.cuda_missing),
      accelerator(devices, device::Backend::kTorch, "libtorch", devices.torch_missing)};
  report::Document document;
  document.data["findings"] = Json::array();
  report::Table table({{"", report::Align::kLeft},
                       {"what", report::Align::kLeft},
                       {"found", report::Align::kLeft},
                       {"what to do", report::Align::kLeft}});
  int64_t lacks = 0;
  for (const Finding& finding : findings) {
    lacks += finding.health == Health::kLack ? 1 : 0;
    table.add_row({health_name(finding.health), finding.what, finding.found, finding.advice});
    document.data["findings"].push_back(Json::object({{"what", finding.what},
                                                      {"health", health_name(finding.health)},
                                                      {"found", finding.found},
                                                      {"advice", finding.advice}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{
      lacks == 0 ? "Everything is there. 'trainyard lab run tour' shows what it is for."
                 : fmt::format("{} of {} could be better.", lacks, findings.size())});
  out << report::render(document, format);
  return 0;
}

Runner setup_doctor(Args& args) {
  auto format = std::make_shared<report::Format>();
  args.format(*format);
  return [format](std::ostream& out) { return doctor_command(*format, out); };
}

}  // namespace

extern const Command kDoctor = {
    .name = "doctor",
    .group = "Start here",
    .summary = "Check this machine and say what is missing",
    .examples = "  trainyard doctor\n  trainyard doctor --json\n",
    .setup = setup_doctor,
};

}  // namespace trainyard::cli
