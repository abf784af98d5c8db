// What the program does for the pages of `trainyard ui`.
#pragma once

#include <string>

#include "ui/service.h"

namespace trainyard::cli {

struct UiSubjects {
  std::filesystem::path folder;  // of runs and labs that are started here
  std::string device;            // that steps of runs are predicted for
  std::string server;            // http://HOST:PORT of `trainyard serve`; empty: none
};

ui::Hooks ui_hooks(const UiSubjects& subjects);

}  // namespace trainyard::cli
