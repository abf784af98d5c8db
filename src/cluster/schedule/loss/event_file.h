// Scalars of a TensorBoard event file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::schedule {

struct EventScalar {
  std::string tag = {};
  int64_t step = 0;
  double value = 0;
};

// Scalars written as simple values or as rank-0 float tensors (TensorFlow 2), in their order. A
// torn last record is left out. Throws Error with the byte of a malformed one.
std::vector<EventScalar> read_event_scalars(const std::filesystem::path& path);

}  // namespace trainyard::schedule
