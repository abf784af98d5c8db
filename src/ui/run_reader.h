// What is new in one run directory.
#pragma once

#include <set>

#include "runs/settings_lines.h"
#include "ui/run_index.h"

namespace trainyard::ui {

struct News {
  bool anything = false;
  bool settings = false;  // which decide what columns there are
};

// Runs are independent of one another: several threads may read, each with its own `lines`.
News read_news(Run& run, const std::set<uint64_t>& locked, runs::SettingsLines& lines);

}  // namespace trainyard::ui
