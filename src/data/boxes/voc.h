// Annotations of Pascal VOC: one XML file a picture.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

// Numbers as they stand in the file: pixels count from one, and the last belongs to the box.
struct VocObject {
  std::string name;
  double xmin = 0;
  double ymin = 0;
  double xmax = 0;
  double ymax = 0;
  bool difficult = false;
};

struct VocAnnotation {
  std::string filename;  // of the picture; empty: not said
  std::vector<VocObject> objects;
};

// Entities of a document type are not expanded. Throws Error with `origin`, byte or object.
VocAnnotation read_voc_annotation(std::string_view xml, std::string_view origin);
// Throws Error if the file cannot be read or is too large for an annotation.
VocAnnotation read_voc_file(const std::filesystem::path& path);

// Sorted by name. Empty if the folder has none.
std::vector<std::filesystem::path> voc_files(const std::filesystem::path& folder);

}  // namespace trainyard::data
