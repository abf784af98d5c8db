// `trainyard devices`: the catalogs of devices, links, prices and software stacks.
#include <memory>

#include "base/error.h"
#include "cluster/predict/view.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

struct DevicesOptions {
  std::string action;
  std::string device;
  std::vector<std::string> catalogs;
  report::Format format = report::Format::kText;
};

int devices_command(const DevicesOptions& options, std::ostream& out) {
  const predict::Catalog catalog = predict::Catalog::load(options.catalogs);
  report::Document document;
  if (options.action.empty()) {
    document = report::devices_document(catalog);
  } else {
    TY_REQUIRE(options.action == "show" && !options.device.empty(),
               "expected `devices` or `devices show NAME`, found `devices {} {}`", options.action,
               options.device);
    document = report::device_document(catalog, catalog.device(options.device));
  }
  out << report::render(document, options.format);
  return 0;
}

Runner setup_devices(Args& args) {
  auto options = std::make_shared<DevicesOptions>();
  args.optional_positional("ACTION", options->action, "show: one device with its sources");
  args.optional_positional("NAME", options->device, "the device to show");
  args.repeated("--catalog", options->catalogs,
                "a YAML file that adds to or overrides the catalog");
  args.format(options->format);
  return [options](std::ostream& out) { return devices_command(*options, out); };
}

}  // namespace

extern const Command kDevices = {
    .name = "devices",
    .group = "Predict",
    .summary = "Devices, links, prices and software stacks that can be predicted for",
    .examples =
        "  trainyard devices\n"
        "  trainyard devices show k80\n"
        "  trainyard devices --catalog mine.yaml --json\n",
    .setup = setup_devices,
};

}  // namespace trainyard::cli
