// Files of truths and detections, as others write them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "detect/scoring.h"

namespace trainyard::detect {

struct TruthFile {
  std::string format;  // "voc", "coco" or "text"
  std::vector<std::string> class_names;
  std::vector<std::string> pictures;  // names; of COCO the ids
  std::vector<Truth> truths;
  std::vector<int64_t> category_ids;  // of COCO, by class
};

// How four numbers of a text file are meant.
enum class BoxNumbers : uint8_t {
  kSizes,
  kCorners
};  // left top width height; left top right bottom

// A folder of Pascal VOC's XML files (or one with a folder Annotations), a COCO file, or a folder
// of text files, one a picture, with lines of "class" and four numbers. Throws Error naming file,
// line and what is wrong.
TruthFile read_truths(const std::filesystem::path& path, BoxNumbers numbers);

// A COCO results file; a folder of VOC's text files, one a class ("picture score left top right
// bottom", named CLASS.txt or comp4_det_test_CLASS.txt); or one of text files, one a picture, with
// lines of "class score" and four numbers. Classes and pictures that the truth does not have are an
// Error with the nearest name.
std::vector<Detection> read_detections(const std::filesystem::path& path, const TruthFile& truth,
                                       BoxNumbers numbers);

}  // namespace trainyard::detect
