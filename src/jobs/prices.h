// Published prices of machines, each with its date and source.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::jobs {

struct PublishedPrice {
  std::string cloud;  // AWS, Azure, GCP, IBM
  std::string region;
  std::string machine;  // empty: accelerators that are attached to one
  std::string accelerator;
  int64_t count = 0;
  double vcpus = 0;
  double ram_gib = 0;
  double usd_per_hour = 0;
  std::optional<double> spot_usd_per_hour;
  std::string date;
  std::string source;

  std::optional<double> at(bool spot) const {
    return spot ? spot_usd_per_hour : std::optional<double>(usd_per_hour);
  }
};

std::span<const PublishedPrice> published_prices();
// Null if there is none.
const PublishedPrice* price_of_machine(std::string_view cloud, std::string_view machine);
const PublishedPrice* price_of_accelerators(std::string_view accelerator, int64_t count);

}  // namespace trainyard::jobs
