#include <algorithm>
#include <optional>
#include <vector>

#include "base/csv.h"
#include "base/error.h"
#include "base/text.h"
#include "cluster/predict/embedded.h"
#include "cluster/transformer/mapping.h"

namespace trainyard::transformer {
namespace {

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kLowPowerWatts = 75;
constexpr std::array<std::string_view, kNumbers> kNames = {"fp32", "tf32", "half", "fp8", "nvfp4"};

const CsvTable& accelerators() {
  static const CsvTable table = CsvTable::parse(
      embedded_text(predict::embedded_files(), "accelerators.csv"), "catalog/accelerators.csv");
  return table;
}

// "a100 (dgx-a100)" is written without spaces in the table.
std::string without_spaces(std::string_view name) {
  std::string out(name);
  std::erase(out, ' ');
  return out;
}

std::optional<CsvRow> find_row(std::string_view name) {
  const std::string wanted = without_spaces(name);
  for (size_t i = 0; i < accelerators().size(); ++i) {
    const CsvRow row = accelerators().row(i);
    if (row.text("device") == wanted) return row;
    const std::vector<std::string> aliases = split(row.text("aliases"), ' ');
    if (std::ranges::find(aliases, wanted) != aliases.end()) return row;
  }
  return std::nullopt;
}

const predict::Device* find_device(const predict::Catalog& catalog, std::string_view id) {
  const auto found = std::ranges::find(catalog.devices(), id, &predict::Device::id);
  return found == catalog.devices().end() ? nullptr : &*found;
}

bool has_fp8(std::string_view generation) {
  return generation == "ada" || generation == "hopper" || generation == "blackwell";
}

// What the catalog of devices says; a device of a host has its share of a host's link.
Machine of_device(const predict::Catalog& catalog, const predict::Device& device) {
  Machine machine;
  machine.id = device.id;
  machine.generation = device.kind;
  const double half = device.peak(predict::Precision::kFp16);
  machine.peaks = {device.fp32, device.tf32 > 0 ? device.tf32 : device.fp32,
                   device.fp16_matrix > 0 ? device.fp16_matrix : half,
                   has_fp8(device.kind) ? 2 * device.fp16_matrix : 0, 0};
  machine.memory_bytes = device.memory_bytes;
  machine.bytes_per_s = device.bytes_per_s;
  machine.inside = catalog.link(device.inside).speed;
  const predict::Link& between = catalog.between(device, "");
  machine.between = between.speed;
  machine.host_bytes_per_s = device.host_bytes_per_s;
  machine.low_power = device.watts > 0 && device.watts <= kLowPowerWatts;
  if (!between.each_device) {
    machine.between.bytes_per_s /= static_cast<double>(machine.domain);
  }
  return machine;
}

void set_from(double& value, const CsvRow& row, std::string_view column, double unit) {
  if (const std::optional<double> number = row.maybe_number(column)) value = *number * unit;
}

void override_from(Machine& machine, const CsvRow& row) {
  machine.id = row.text("device");
  machine.generation = row.text("generation");
  constexpr std::array<std::string_view, kNumbers> kColumns = {"fp32", "tf32", "half", "fp8",
                                                               "fp4"};
  for (size_t i = 0; i < kNumbers; ++i) set_from(machine.peaks[i], row, kColumns[i], kTera);
  set_from(machine.memory_bytes, row, "memory_gib", kGibi);
  set_from(machine.bytes_per_s, row, "bandwidth_gbps", kGiga);
  set_from(machine.inside.bytes_per_s, row, "inside_gbps", kGiga);
  set_from(machine.between.bytes_per_s, row, "between_gbps", kGiga);
  set_from(machine.host_bytes_per_s, row, "host_gbps", kGiga);
  if (const std::optional<double> watts = row.maybe_number("watts")) {
    machine.low_power = *watts <= kLowPowerWatts;
  }
  machine.domain = row.integer("domain");
}

}  // namespace

Number number_from_name(std::string_view name) {
  if (name == "bf16" || name == "fp16" || name == "half") return Number::kHalf;
  const auto found = std::ranges::find(kNames, name);
  TY_REQUIRE(found != kNames.end(),
             "precision is '{}', expected fp32, tf32, bf16, fp16, fp8 or nvfp4", name);
  return static_cast<Number>(found - kNames.begin());
}

std::string_view number_name(Number number) {
  return kNames[static_cast<size_t>(number)];
}

bool is_machine(const predict::Catalog& catalog, std::string_view name) {
  return find_row(name) || find_device(catalog, name) != nullptr;
}

Machine machine_of(const predict::Catalog& catalog, std::string_view name) {
  const std::optional<CsvRow> row = find_row(name);
  const std::string id = row ? row->text("device") : std::string(name);
  const predict::Device* device = find_device(catalog, id);
  // Throws with the nearest names.
  if (!row && device == nullptr) catalog.device(name);
  Machine machine = device != nullptr ? of_device(catalog, *device) : Machine{};
  if (row) override_from(machine, *row);
  return machine;
}

}  // namespace trainyard::transformer
