// What a prediction may be asked for. Within these every figure fits its type; see docs/limits.md.
#pragma once

#include <cstdint>

namespace trainyard::predict {

constexpr int64_t kMostWorkers = 1'000'000;  // devices, servers, or devices of a host
constexpr int64_t kLargestBatch = int64_t{1} << 24;
constexpr int64_t kMostConfigurations = 5'000'000;
constexpr double kMostImages = 1e12;  // of a dataset, or read in a second
constexpr double kMostEpochs = 1e6;
constexpr double kHighestPrice = 1e6;  // dollars per device and hour

}  // namespace trainyard::predict
