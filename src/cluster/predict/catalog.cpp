#include "cluster/predict/catalog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cluster/predict/embedded.h"
#include "cluster/predict/instances.h"
#include "cluster/predict/this_machine.h"

namespace trainyard::predict {
namespace {

constexpr int64_t kMostUnits = 1'000'000;  // of a device
constexpr int64_t kLastYear = 9999;
constexpr double kGiga = 1e9;
constexpr double kGibi = 1024.0 * 1024.0 * 1024.0;

Device read_device(const std::string& id, const YamlView& view) {
  view.only({"name",
             "kind",
             "year",
             "fp32_gflops",
             "fp64_gflops",
             "fp16_gflops",
             "tf32_gflops",
             "fp16_tensor_gflops",
             "fp16_accumulate_gflops",
             "int8_gops",
             "memory_gb",
             "bandwidth_gbps",
             "clock_mhz",
             "base_mhz",
             "multiprocessors",
             "l2_mb",
             "watts",
             "host_gbps",
             "cores",
             "inside",
             "between",
             "stack",
             "paleo",
             "source"});
  Device device;
  device.id = id;
  device.name = view.text_or("name", id);
  device.kind = view.at("kind").text();
  device.year = view.count_or("year", 0, 0, kLastYear);
  device.fp32 = view.at("fp32_gflops").positive() * kGiga;
  device.fp64 = view.number_or("fp64_gflops", 0) * kGiga;
  device.fp16 = view.number_or("fp16_gflops", 0) * kGiga;
  device.tf32 = view.number_or("tf32_gflops", 0) * kGiga;
  device.fp16_matrix = view.number_or("fp16_tensor_gflops", 0) * kGiga;
  device.fp16_accumulate =
      view.number_or("fp16_accumulate_gflops", device.fp16_matrix / kGiga) * kGiga;
  device.int8 = view.number_or("int8_gops", 0) * kGiga;
  device.memory_bytes = view.at("memory_gb").positive() * kGibi;
  device.bytes_per_s = view.at("bandwidth_gbps").positive() * kGiga;
  const auto clock = view.find("clock_mhz");
  device.clock_hz = clock ? clock->positive() * 1e6 : 0;
  device.base_hz = view.number_or("base_mhz", device.clock_hz / 1e6) * 1e6;
  device.multiprocessors = view.count_or("multiprocessors", 0, 0, kMostUnits);
  device.cache_bytes = view.number_or("l2_mb", 0) * 1024 * 1024;
  device.watts = view.number_or("watts", 0);
  device.host_bytes_per_s = view.number_or("host_gbps", 16) * kGiga;
  device.cores = view.count_or("cores", 0, 0, kMostUnits);
  device.inside = view.text_or("inside", "pcie3");
  device.between = view.text_or("between", "10gbe");
  device.stack = view.text_or("stack", "");
  device.source = view.at("source").text();
  if (const auto paleo = view.find("paleo")) {
    const std::vector<YamlView> figures = paleo->items();
    if (figures.size() != 3) paleo->fail("expected [clock MHz, GFLOP/s, GB/s]");
    device.paleo =
        paleo::Machine{figures[0].positive(), figures[1].positive(), figures[2].positive()};
  }
  return device;
}

Link read_link(const std::string& id, const YamlView& view) {
  view.only({"name", "gbps", "latency_us", "paleo", "each_device", "source"});
  const double gigabytes = view.at("gbps").positive();
  const auto each_device = view.find("each_device");
  return {id,
          view.text_or("name", id),
          {gigabytes * kGiga, view.at("latency_us").number() * 1e-6},
          view.number_or("paleo", gigabytes * 8),
          each_device && each_device->boolean(),
          view.at("source").text()};
}

// What is not said is what a stack of middling quality has on this class of device.
Efficiency read_efficiency(const YamlView& view, std::string_view device_class) {
  Efficiency efficiency = prior_efficiency(device_class);
  for (const auto& [key, value] : view.members()) {
    bool known = false;
    for (const EfficiencyField& field : efficiency_fields()) {
      if (field.name != key) continue;
      efficiency.*field.value = value.positive();
      known = true;
    }
    if (!known) value.fail("no such efficiency; docs/predict.md lists them");
  }
  return efficiency;
}

// `from`: what is not said is as there.
Stack read_stack(const std::string& id, const YamlView& view, const Stack& from) {
  view.only({"flash_attention", "name",          "inherits",     "winograd",      "fourier",
             "image_by_image",  "matrix_units",  "paleo",        "paleo_source",  "overlaps",
             "bucket_mb",       "network_share", "inside_share", "gpu",           "cpu",
             "devices",         "hosts",         "fitted_to",    "measured",      "framework",
             "family",          "channels_last", "fuses",        "compiled",      "engine",
             "copies_input",    "pcie_share",    "sync",         "one_process",   "rows",
             "networks",        "opencl",        "year",         "casts_weights", "zero_kernels",
             "update_kernels",  "graph_launch",  "released"});
  Stack stack = from;
  stack.id = id;
  stack.name = view.text_or("name", id);
  const auto flag = [&](std::string_view key, bool fallback) {
    const auto found = view.find(key);
    return found ? found->boolean() : fallback;
  };
  stack.winograd = flag("winograd", from.winograd);
  stack.fourier = flag("fourier", from.fourier);
  stack.image_by_image = flag("image_by_image", from.image_by_image);
  stack.matrix_units = flag("matrix_units", from.matrix_units);
  stack.framework = view.text_or("framework", from.framework);
  stack.family = view.text_or("family", from.family);
  stack.channels_last = flag("channels_last", from.channels_last);
  stack.fuses = flag("fuses", from.fuses);
  stack.compiled = flag("compiled", from.compiled);
  stack.engine = flag("engine", from.engine);
  stack.copies_input = flag("copies_input", from.copies_input);
  stack.opencl = flag("opencl", from.opencl);
  stack.casts_weights = flag("casts_weights", from.casts_weights);
  stack.graph_launch = flag("graph_launch", from.graph_launch);
  stack.flash_attention = flag("flash_attention", from.flash_attention);
  stack.year = view.number_or("year", from.year);
  stack.released = view.text_or("released", from.released);
  stack.zero_kernels = view.number_or("zero_kernels", from.zero_kernels);
  stack.update_kernels = view.number_or("update_kernels", from.update_kernels);
  stack.overlaps = flag("overlaps", from.overlaps);
  if (const auto paleo = view.find("paleo")) {
    const std::vector<YamlView> shares = paleo->items();
    if (shares.size() != 2) paleo->fail("expected [share of compute, share of network]");
    stack.paleo = {shares[0].positive(), shares[1].positive()};
  }
  stack.paleo_source = view.text_or("paleo_source", from.paleo_source);
  stack.bucket_bytes = view.number_or("bucket_mb", from.bucket_bytes / 1e6) * 1e6;
  stack.network_share = view.number_or("network_share", from.network_share);
  stack.inside_share = view.number_or("inside_share", from.inside_share);
  stack.pcie_share = view.number_or("pcie_share", from.pcie_share);
  stack.sync = view.number_or("sync", from.sync);
  stack.one_process = flag("one_process", from.one_process);
  if (const auto networks = view.find("networks")) {
    for (const YamlView& network : networks->items()) stack.networks.insert(network.text());
  }
  if (const auto rows = view.find("rows")) {
    for (const auto& [where, count] : rows->members()) stack.rows[where] = count.integer();
  }
  for (const std::string_view name : {"gpu", "cpu"}) {
    if (const auto found = view.find(name)) {
      stack.efficiency[std::string(name)] = read_efficiency(*found, name);
    }
  }
  if (const auto factors = view.find("devices")) {
    for (const auto& [device, factor] : factors->members()) {
      stack.device_factor[device] = factor.positive();
    }
  }
  if (const auto factors = view.find("hosts")) {
    for (const auto& [device, factor] : factors->members()) {
      stack.host_factor[device] = factor.positive();
    }
  }
  stack.fitted_to = view.text_or("fitted_to", "");
  if (const auto measured = view.find("measured")) {
    stack.measured = std::make_shared<const MeasuredCosts>(read_measured_costs(*measured));
  }
  return stack;
}

DeviceFactors read_factors(const YamlView& view) {
  view.only({"throttle", "feeding", "kinds", "devices"});
  DeviceFactors factors;
  if (const auto throttle = view.find("throttle")) {
    throttle->only({"vector", "matrix"});
    factors.vector_throttle = throttle->at("vector").number();
    factors.matrix_throttle = throttle->at("matrix").number();
  }
  factors.feeding = view.number_or("feeding", 0);
  const auto read = [&](std::string_view key, auto& into) {
    const auto found = view.find(key);
    if (!found) return;
    for (const auto& [name, pair] : found->members()) {
      const std::vector<YamlView> values = pair.items();
      if (values.size() != 2) pair.fail("expected [factor of computing, factor of memory]");
      into[name] = {values[0].positive(), values[1].positive()};
    }
  };
  read("kinds", factors.kinds);
  read("devices", factors.devices);
  return factors;
}

// Published peaks assume the boost clock. Under load the clock falls towards the base clock; the
// fitted exponents say how far, apart for vector and matrix units.
void apply_factors(const DeviceFactors& factors, Device& device) {
  DeviceFactors::Factor both;
  for (const auto& [map, name] :
       {std::pair{&factors.kinds, &device.kind}, std::pair{&factors.devices, &device.id}}) {
    if (const auto found = map->find(*name); found != map->end()) {
      both.compute *= found->second.compute;
      both.memory *= found->second.memory;
    }
  }
  const double ratio = device.clock_hz > 0 ? device.base_hz / device.clock_hz : 1;
  device.vector_factor = both.compute * std::pow(ratio, factors.vector_throttle);
  device.matrix_factor = both.compute * std::pow(ratio, factors.matrix_throttle) *
                         std::pow(device.matrix_load(), -factors.feeding);
  device.memory_factor = both.memory;
}

// Files that are read later replace entries of the same name: built in, then the user's folder,
// then --catalog.
template <typename Entry>
void put(std::vector<Entry>& entries, Entry entry) {
  for (Entry& old : entries) {
    if (old.id != entry.id) continue;
    old = std::move(entry);
    return;
  }
  entries.push_back(std::move(entry));
}

template <typename Entry>
const Entry& find(const std::vector<Entry>& entries, std::string_view id, std::string_view what,
                  std::string_view where) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (entry.id == id) return entry;
    names.push_back(entry.id);
  }
  throw_error("{} '{}' is not known.{} {}", what, id, did_you_mean(id, names), where);
}

}  // namespace

void Catalog::add(std::string_view text, const std::string& origin) {
  const auto document = YamlDocument::parse(text, origin);
  const YamlView root = document->root();
  // "prices" is what the instances were called before they had links.
  root.only({"devices", "links", "instances", "prices", "stacks", "factors", "intervals"});
  for (const std::string_view name : {"devices", "links", "stacks"}) {
    if (const auto found = root.find(name)) add_section(*found, name);
  }
  for (const std::string_view name : {"instances", "prices"}) {
    if (const auto found = root.find(name)) add_instances(*found);
  }
  if (const auto found = root.find("intervals")) intervals_ = read_intervals(*found);
  if (const auto found = root.find("factors")) factors_ = read_factors(*found);
  for (Device& device : devices_) apply_factors(factors_, device);
}

// The user's own instances with a device replace all that were there.
void Catalog::add_instances(const YamlView& view) {
  std::vector<Instance> added;
  for (const YamlView& item : view.items()) {
    Instance instance = read_instance(item);
    try {
      const Device& computes = device(instance.device);
      if (instance.inside.empty()) instance.inside = computes.inside;
      if (instance.network.empty()) instance.network = computes.between;
      link(instance.inside);
      link(instance.network);
    } catch (const Error& problem) {
      item.fail(problem.what());
    }
    added.push_back(std::move(instance));
  }
  for (const Instance& instance : added) {
    std::erase_if(instances_, [&](const Instance& old) { return old.device == instance.device; });
  }
  instances_.insert(instances_.end(), added.begin(), added.end());
  offers_ = offers_of(instances_);
}

void Catalog::add_section(const YamlView& view, std::string_view section) {
  for (const auto& [id, item] : view.members()) {
    if (section == "devices") put(devices_, read_device(id, item));
    if (section == "links") put(links_, read_link(id, item));
    if (section != "stacks") continue;
    const std::string parent = item.text_or("inherits", "");
    Stack from = parent.empty() ? Stack{} : stack(parent);
    from.rows.clear();
    from.networks.clear();
    put(stacks_, read_stack(id, item, from));
  }
}

Catalog Catalog::built_in() {
  Catalog catalog;
  catalog.instances_.assign(built_in_instances().begin(), built_in_instances().end());
  catalog.offers_ = offers_of(catalog.instances_);
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.ends_with(".yaml")) catalog.add(file.text, fmt::format("catalog/{}", file.name));
  }
  return catalog;
}

Catalog Catalog::load(std::span<const std::string> files) {
  Catalog catalog = built_in();
  std::set<std::filesystem::path> own;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(user_catalog_folder(), absent)) {
    if (entry.path().extension() == ".yaml") own.insert(entry.path());
  }
  for (const auto& path : own) catalog.add(read_file(path), path.string());
  for (const std::string& file : files) catalog.add(read_file(file), file);
  return catalog;
}

std::filesystem::path user_catalog_folder() {
  const char* const home = std::getenv("HOME");
  return home != nullptr ? std::filesystem::path(home) / ".config/trainyard"
                         : std::filesystem::path();
}

const Device& Catalog::device(std::string_view id) const {
  const auto known = [&](const Device& device) { return device.id == id; };
  TY_REQUIRE(id != kThisMachine || std::any_of(devices_.begin(), devices_.end(), known),
             "device '{}' is this machine, which has not been measured yet; run `trainyard "
             "calibrate` once",
             kThisMachine);
  return find(devices_, id, "device", "`trainyard devices` lists them.");
}

const Link& Catalog::link(std::string_view id) const {
  return find(links_, id, "link", "`trainyard devices` lists them.");
}

const Link& Catalog::between(const Device& device, std::string_view id) const {
  return link(id.empty() ? std::string_view(device.between) : id);
}

const Stack& Catalog::stack(std::string_view id) const {
  return find(stacks_, id, "software stack", "`trainyard devices` lists them.");
}

const Stack& Catalog::default_stack(const Device& device) const {
  if (!device.stack.empty()) return stack(device.stack);
  if (device.is_cpu()) return stack("mxnet-1.2");
  // Devices before Volta have no rows of PyTorch.
  const bool early = device.kind == "kepler" || device.kind == "maxwell" || device.kind == "pascal";
  if (early) return stack("tensorflow-1.1");
  const std::string earliest = fmt::format("{}", device.year);
  const auto rank = [&](const Stack& one) {
    return std::tuple(one.released >= earliest, one.channels_last, one.rows_on(device.id) > 0,
                      one.released, one.all_rows());
  };
  const Stack* best = nullptr;
  for (const Stack& candidate : stacks_) {
    const bool eligible =
        candidate.framework == "pytorch" && !candidate.compiled && !candidate.copies_input;
    if (eligible && (best == nullptr || rank(*best) < rank(candidate))) best = &candidate;
  }
  TY_CHECK(best != nullptr, "the catalog has no PyTorch stack for '{}'", device.id);
  return *best;
}

// Accelerators priced without the machine around them look cheap, so whole instances come first.
const RentableInstance* Catalog::cheapest(std::string_view device) const {
  const RentableInstance* best = nullptr;
  for (const RentableInstance& offer : offers_) {
    if (offer.device != device) continue;
    const bool better =
        best == nullptr || (!best->complete && offer.complete) ||
        (best->complete == offer.complete && offer.per_device() < best->per_device());
    if (better) best = &offer;
  }
  return best;
}

const RentableInstance& Catalog::offer(std::string_view instance) const {
  std::vector<std::string> names;
  for (const RentableInstance& offer : offers_) {
    if (offer.instance == instance) return offer;
    names.push_back(offer.instance);
  }
  throw_error("no price is known of instance '{}'.{} `trainyard devices show DEVICE` lists them.",
              instance, did_you_mean(instance, names));
}

void Catalog::set_factors(DeviceFactors factors) {
  factors_ = std::move(factors);
  for (Device& device : devices_) apply_factors(factors_, device);
}

void Catalog::replace(Stack stack) {
  put(stacks_, std::move(stack));
}

std::string_view device_class(const Device& device) {
  return device.is_cpu() ? "cpu" : "gpu";
}

}  // namespace trainyard::predict
