// Some classes of Open Images, in the layout of open_images_downloader.py of pytorch-ssd.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "program/public_files.h"

namespace trainyard::cli {

struct OpenImagesSplit {
  std::string name = {};  // train, validation, test
  int64_t boxes = 0;
  int64_t pictures = 0;
  int64_t missing = 0;  // that are not there any more; their boxes are left out
};

// Brings class-descriptions-boxable.csv, SPLIT-annotations-bbox.csv and the pictures with boxes of
// the classes, at most `most` of each class and split (0: all), and writes
// sub-SPLIT-annotations-bbox.csv. What is there is not brought again. Drawings are left out.
std::vector<OpenImagesSplit> bring_open_images(const PublicSet& set,
                                               const std::filesystem::path& folder,
                                               const std::vector<std::string>& classes,
                                               int64_t most);

}  // namespace trainyard::cli
