// `trainyard device list|check`: the devices of this machine, and whether their kernels are right.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "engine/device/view.h"
#include "engine/device_check.h"
#include "program/command.h"
#include "report/fields.h"

namespace trainyard::cli {
namespace {

struct DeviceFlags {
  std::string action;
  std::string device = "all";
  report::Format format = report::Format::kText;
};

report::Fields<measure::DeviceCheck> device_check_fields() {
  using measure::DeviceCheck;
  using report::Align;
  using report::Cell;
  return {{"operator", {"operator", Align::kLeft}, &DeviceCheck::op},
          {"case", {"case", Align::kLeft}, &DeviceCheck::what},
          {"kernel", {"kernel", Align::kLeft}, &DeviceCheck::kernel},
          {"worst_error",
           {"worst error"},
           &DeviceCheck::worst_error,
           [](double error) { return Cell(fmt::format("{:.1e}", error)); }},
          {"passed",
           {"result", Align::kLeft},
           &DeviceCheck::passed,
           [](const DeviceCheck& check) { return Cell(check.passed ? "right" : check.problem); }},
          {"problem", &DeviceCheck::problem}};
}

// One table for each device, of what is wrong first.
bool add_checks(report::Document& document, const device::DeviceInfo& info) {
  const std::vector<measure::DeviceCheck> checks = measure::check_device(device::open_device(info));
  const int64_t wrong = std::ranges::count(checks, false, &measure::DeviceCheck::passed);
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} ({}, {}): {} of {} cases are right", info.name, info.platform, info.version,
                  static_cast<int64_t>(checks.size()) - wrong, checks.size())});
  document.blocks.emplace_back(table_of(device_check_fields(), checks));
  document.data["checks"].push_back(
      Json::object({{"device", info.name},
                    {"wrong", wrong},
                    {"cases", objects_of(device_check_fields(), checks)}}));
  return wrong == 0;
}

int device_check(const DeviceFlags& flags, std::ostream& out) {
  const device::DeviceList list = device::list_devices();
  report::Document document = report::device_list_document(list);
  document.data["checks"] = Json::array();
  bool right = true;
  bool any = false;
  for (const size_t i : device::find_devices(list, flags.device)) {
    if (list.devices[i].backend == device::Backend::kHost) continue;
    any = true;
    right = add_checks(document, list.devices[i]) && right;
  }
  if (!any) {
    document.blocks.emplace_back(
        report::Paragraph{"There is no device besides the processors to check."});
  }
  out << report::render(document, flags.format);
  return right ? 0 : 1;
}

int device_command(const DeviceFlags& flags, std::ostream& out) {
  if (flags.action == "check") return device_check(flags, out);
  const std::vector<std::string> actions = {"list", "check"};
  TY_REQUIRE(flags.action == "list", "device {}: expected list or check.{}", flags.action,
             did_you_mean(flags.action, actions));
  device::DeviceList list = device::list_devices();
  std::vector<device::DeviceInfo> wanted;
  for (const size_t i : device::find_devices(list, flags.device)) wanted.push_back(list.devices[i]);
  list.devices = std::move(wanted);
  out << report::render(report::device_list_document(list), flags.format);
  return 0;
}

Runner setup_device(Args& args) {
  auto flags = std::make_shared<DeviceFlags>();
  args.positional("ACTION", flags->action,
                  "list: what there is; check: every kernel against the reference");
  args.option("--device", flags->device, "cpu, opencl, cuda, torch, all, or a part of a name");
  args.format(flags->format);
  return [flags](std::ostream& out) { return device_command(*flags, out); };
}

}  // namespace

extern const Command kDevice = {
    .name = "device",
    .group = "Run",
    .summary = "List this machine's devices, and check their kernels",
    .examples =
        "  trainyard device list\n"
        "  trainyard device check --device opencl\n"
        "  trainyard device check --json\n",
    .setup = setup_device,
};

}  // namespace trainyard::cli
