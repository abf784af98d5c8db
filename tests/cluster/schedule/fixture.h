// Recorded results of other programs (tools/schedule_fixtures.py).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"

namespace trainyard::schedule {

inline Json fixture(const std::string& name) {
  const std::filesystem::path path = std::filesystem::path(TY_TEST_DATA) / name;
  return Json::parse(read_file(path), path.string());
}

inline std::vector<double> numbers(const Json& array) {
  std::vector<double> values;
  for (const Json& item : array.items()) values.push_back(item.as_number());
  return values;
}

}  // namespace trainyard::schedule
