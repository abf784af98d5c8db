// Annotations of COCO: one JSON file a split.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

struct CocoPicture {
  int64_t id = 0;
  std::string file_name;
  int64_t height = 0;
  int64_t width = 0;
};

struct CocoObject {
  size_t picture = 0;   // index into pictures
  size_t category = 0;  // index into class_names
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double area = 0;     // of the object; that of the box where the file does not say
  bool crowd = false;  // a group, counted neither way
};

// Categories in the order of their ids.
struct CocoAnnotations {
  std::vector<std::string> class_names;
  std::vector<int64_t> category_ids;
  std::vector<CocoPicture> pictures;
  std::vector<CocoObject> objects;
};

// Throws Error with `origin` and byte for what is not JSON or misses a field, and for ids that
// nothing has.
CocoAnnotations read_coco(std::string_view json, std::string_view origin);

// One detection of a results file: a list of {image_id, category_id, bbox, score}.
struct CocoResult {
  int64_t image_id = 0;
  int64_t category_id = 0;
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double score = 0;
};
std::vector<CocoResult> read_coco_results(std::string_view json, std::string_view origin);

}  // namespace trainyard::data
