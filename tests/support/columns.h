// A terminal of so many columns, as long as it lives.
#pragma once

#include <cstdlib>
#include <string>

namespace trainyard {

class Columns {
 public:
  explicit Columns(int columns) { ::setenv("COLUMNS", std::to_string(columns).c_str(), 1); }
  ~Columns() { ::unsetenv("COLUMNS"); }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
};

}  // namespace trainyard
