#include "jobs/prices.h"

#include <vector>

#include "base/csv.h"
#include "jobs/embedded.h"

namespace trainyard::jobs {
namespace {

std::vector<PublishedPrice> read_prices() {
  const CsvTable table = CsvTable::parse(embedded_file("prices.csv"), "prices.csv");
  std::vector<PublishedPrice> prices;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    prices.push_back({row.text("cloud"), row.text("region"), row.text("machine"),
                      row.text("accelerator"), row.integer("count"),
                      row.maybe_number("vcpus").value_or(0),
                      row.maybe_number("ram_gib").value_or(0), row.number("usd_per_hour"),
                      row.maybe_number("spot_usd_per_hour"), row.text("date"), row.text("source")});
  }
  return prices;
}

}  // namespace

std::span<const PublishedPrice> published_prices() {
  static const std::vector<PublishedPrice> kPrices = read_prices();
  return kPrices;
}

const PublishedPrice* price_of_machine(std::string_view cloud, std::string_view machine) {
  for (const PublishedPrice& price : published_prices()) {
    if (price.cloud == cloud && price.machine == machine) return &price;
  }
  return nullptr;
}

const PublishedPrice* price_of_accelerators(std::string_view accelerator, int64_t count) {
  for (const PublishedPrice& price : published_prices()) {
    if (price.machine.empty() && price.accelerator == accelerator && price.count == count) {
      return &price;
    }
  }
  return nullptr;
}

}  // namespace trainyard::jobs
