#include "cluster/predict/instances.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/yaml.h"
#include "cluster/predict/embedded.h"

namespace trainyard::predict {
namespace {

constexpr int64_t kMostDevices = 1'000'000;  // of an instance

Instance::Part read_part(const CsvRow& row) {
  const std::string& text = row.text("part");
  if (text.empty()) return Instance::Part::kWhole;
  if (text == "host") return Instance::Part::kHost;
  if (text == "accelerators") return Instance::Part::kAccelerators;
  row.fail("part", "expected nothing, host or accelerators");
}

// As the service calls it.
std::string name_of(const Instance& instance) {
  if (instance.service == "sagemaker") return "ml." + instance.instance;
  if (instance.part == Instance::Part::kAccelerators) return instance.native;
  return instance.instance;
}

Instance read_row(const CsvRow& row) {
  Instance instance;
  instance.cloud = row.text("cloud");
  instance.instance = row.text("instance");
  instance.service = row.text("service");
  instance.part = read_part(row);
  instance.vcpus = row.maybe_number("vcpus").value_or(0);
  instance.ram_gib = row.maybe_number("ram_gib").value_or(0);
  instance.accelerator = row.text("accelerator");
  instance.count = row.maybe_number("count");
  instance.accelerator_gib = row.maybe_number("accelerator_gib").value_or(0);
  instance.native = row.text("native");
  instance.device = row.text("device");
  instance.inside = row.text("inside");
  instance.network = row.text("network");
  instance.up_to = row.text("up_to") == "yes";
  instance.region = row.text("region");
  instance.usd_per_hour = row.maybe_number("usd_per_hour");
  instance.spot_usd_per_hour = row.maybe_number("spot_usd_per_hour");
  instance.date = row.text("price_date");
  instance.price_source = row.text("price_source");
  instance.source = row.text("source");
  instance.name = name_of(instance);
  return instance;
}

std::vector<Instance> read_built_in() {
  constexpr std::string_view kName = "instances.csv";
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name != kName) continue;
    const CsvTable table = CsvTable::parse(file.text, fmt::format("catalog/{}", kName));
    std::vector<Instance> instances;
    for (size_t i = 0; i < table.size(); ++i) instances.push_back(read_row(table.row(i)));
    return instances;
  }
  throw_internal_error(__FILE__, __LINE__, "embedded_files()", "no instances.csv");
}

std::optional<RentableInstance> offer_of(const Instance& machine, const Instance* accelerators) {
  const Instance& computes = accelerators != nullptr ? *accelerators : machine;
  const std::optional<HourlyPrice> price = hourly_price(machine, accelerators, false);
  if (computes.device.empty() || !price) return std::nullopt;
  const bool attached = machine.device.empty() && accelerators != nullptr;
  const int64_t devices = std::max<int64_t>(1, computes.whole_count());
  return RentableInstance{.cloud = machine.cloud,
                          .instance = attached ? fmt::format("{} with {} {}", machine.instance,
                                                             devices, accelerators->native)
                                               : machine.instance,
                          .device = computes.device,
                          .devices = devices,
                          .inside = computes.inside,
                          .network = machine.network,
                          .up_to = machine.up_to,
                          .usd_per_hour = price->usd,
                          .complete = price->complete,
                          .date = price->date,
                          .source = price->source};
}

}  // namespace

std::span<const Instance> built_in_instances() {
  static const std::vector<Instance> kInstances = read_built_in();
  return kInstances;
}

Instance read_instance(const YamlView& view) {
  view.only({"device", "cloud", "instance", "devices", "usd_per_hour", "attached", "inside",
             "network", "region", "date", "source"});
  Instance instance;
  instance.device = view.at("device").text();
  instance.accelerator = instance.device;
  instance.cloud = view.at("cloud").text();
  instance.instance = view.at("instance").text();
  instance.name = instance.instance;
  instance.count = static_cast<double>(view.at("devices").count(1, kMostDevices));
  instance.usd_per_hour = view.at("usd_per_hour").positive();
  const auto attached = view.find("attached");
  if (attached && attached->boolean()) instance.part = Instance::Part::kAccelerators;
  instance.inside = view.text_or("inside", "");
  instance.network = view.text_or("network", "");
  instance.region = view.text_or("region", "");
  instance.date = view.at("date").text();
  instance.price_source = view.at("source").text();
  instance.source = instance.price_source;
  return instance;
}

const Instance* find_accelerators(std::span<const Instance> instances, std::string_view cloud,
                                  std::string_view accelerator, int64_t count) {
  for (const Instance& instance : instances) {
    if (instance.part == Instance::Part::kAccelerators && instance.cloud == cloud &&
        instance.accelerator == accelerator && instance.whole_count() == count &&
        instance.usd_per_hour) {
      return &instance;
    }
  }
  return nullptr;
}

bool takes_accelerators(const Instance& machine) {
  // With some processors to feed them, and in the usual proportion of memory.
  constexpr double kFewestProcessors = 8;
  return machine.native == "attach" && machine.instance.starts_with("n1-standard") &&
         machine.vcpus >= kFewestProcessors;
}

std::optional<HourlyPrice> hourly_price(const Instance& machine, const Instance* accelerators,
                                        bool spot) {
  const std::optional<double> host = machine.at(spot);
  if (accelerators == nullptr) {
    const bool complete = machine.part == Instance::Part::kWhole;
    if (!host || machine.part == Instance::Part::kHost) return std::nullopt;
    return HourlyPrice{*host, complete, machine.date, machine.price_source};
  }
  const std::optional<double> parts = accelerators->at(spot);
  if (!parts) return std::nullopt;
  HourlyPrice price{*parts, host.has_value(), accelerators->date, accelerators->price_source};
  if (host) {
    price.usd += *host;
    price.date = std::min(machine.date, accelerators->date);
  }
  return price;
}

std::vector<RentableInstance> offers_of(std::span<const Instance> instances) {
  std::vector<RentableInstance> offers;
  std::vector<const Instance*> housed;  // accelerators that a machine of the table takes
  const auto add = [&](const Instance& machine, const Instance* accelerators) {
    if (const auto offer = offer_of(machine, accelerators)) offers.push_back(*offer);
    if (accelerators != nullptr) housed.push_back(accelerators);
  };
  for (const Instance& machine : instances) {
    if (machine.part == Instance::Part::kHost) {
      add(machine,
          find_accelerators(instances, machine.cloud, machine.accelerator, machine.whole_count()));
    } else if (machine.part == Instance::Part::kWhole) {
      add(machine, nullptr);
    }
    if (!takes_accelerators(machine) || !machine.usd_per_hour) continue;
    for (const Instance& parts : instances) {
      if (parts.part == Instance::Part::kAccelerators && parts.service == "vertex-attach") {
        add(machine, &parts);
      }
    }
  }
  for (const Instance& parts : instances) {
    if (parts.part == Instance::Part::kAccelerators &&
        std::find(housed.begin(), housed.end(), &parts) == housed.end()) {
      add(parts, nullptr);
    }
  }
  return offers;
}

}  // namespace trainyard::predict
