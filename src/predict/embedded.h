// The catalog files that are built into the program (catalog/ in the source tree).
#pragma once

#include <span>
#include <string_view>

namespace trainyard::predict {

struct EmbeddedFile {
  std::string_view name;  // "devices.yaml", "published/mxnet.csv"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files();

}  // namespace trainyard::predict
