#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "base/json_reader.h"
#include "data/boxes/coco.h"

namespace trainyard::data {
namespace {

// As the file has them, before ids are looked up.
struct RawObject {
  std::optional<int64_t> image_id;
  std::optional<int64_t> category_id;
  std::vector<double> bbox;
  std::optional<double> area;
  std::optional<double> score;
  bool crowd = false;
};

std::vector<double> read_bbox(JsonReader& reader) {
  std::vector<double> numbers;
  reader.enter_array();
  while (reader.next_item()) numbers.push_back(reader.number());
  if (numbers.size() != 4) reader.fail("bbox needs four numbers: x, y, width, height");
  return numbers;
}

// Fields in any order, unknown ones skipped: files of other tools have more or fewer. Shared by
// annotations and by detections, which have a score.
RawObject read_raw_object(JsonReader& reader) {
  RawObject object;
  reader.enter_object();
  std::string key;
  while (reader.next_key(key)) {
    if (key == "image_id") {
      object.image_id = reader.integer();
    } else if (key == "category_id") {
      object.category_id = reader.integer();
    } else if (key == "bbox") {
      object.bbox = read_bbox(reader);
    } else if (key == "area") {
      object.area = reader.number();
    } else if (key == "score") {
      object.score = reader.number();
    } else if (key == "iscrowd") {
      object.crowd =
          reader.peek() == JsonReader::Kind::kBool ? reader.boolean() : reader.number() != 0;
    } else {
      reader.skip();
    }
  }
  if (!object.image_id) reader.fail("an annotation has no image_id");
  if (!object.category_id) reader.fail("an annotation has no category_id");
  if (object.bbox.empty()) reader.fail("an annotation has no bbox");
  return object;
}

CocoPicture read_picture(JsonReader& reader) {
  CocoPicture picture;
  bool has_id = false;
  reader.enter_object();
  std::string key;
  while (reader.next_key(key)) {
    if (key == "id") {
      picture.id = reader.integer();
      has_id = true;
    } else if (key == "file_name") {
      picture.file_name = reader.text();
    } else if (key == "height") {
      picture.height = reader.integer();
    } else if (key == "width") {
      picture.width = reader.integer();
    } else {
      reader.skip();
    }
  }
  if (!has_id) reader.fail("an image has no id");
  return picture;
}

std::pair<int64_t, std::string> read_category(JsonReader& reader) {
  std::optional<int64_t> id;
  std::string name;
  reader.enter_object();
  std::string key;
  while (reader.next_key(key)) {
    if (key == "id") {
      id = reader.integer();
    } else if (key == "name") {
      name = reader.text();
    } else {
      reader.skip();
    }
  }
  if (!id || name.empty()) reader.fail("a category has no id or no name");
  return {*id, name};
}

void each_item(JsonReader& reader, const std::function<void()>& read) {
  reader.enter_array();
  while (reader.next_item()) read();
}

}  // namespace

CocoAnnotations read_coco(std::string_view json, std::string_view origin) {
  JsonReader reader(json, origin);
  CocoAnnotations all;
  // By id, so that classes are numbered in the order of ids, whatever the order in the file.
  std::map<int64_t, std::string> categories;
  std::vector<RawObject> raw;
  bool has_pictures = false;
  reader.enter_object();
  std::string key;
  while (reader.next_key(key)) {
    if (key == "images") {
      has_pictures = true;
      each_item(reader, [&] { all.pictures.push_back(read_picture(reader)); });
    } else if (key == "annotations") {
      each_item(reader, [&] { raw.push_back(read_raw_object(reader)); });
    } else if (key == "categories") {
      each_item(reader, [&] { categories.insert(read_category(reader)); });
    } else {
      reader.skip();
    }
  }
  reader.finish();
  TY_REQUIRE(has_pictures && !categories.empty(),
             "{}: expected COCO's images, annotations and categories; found no {}", origin,
             has_pictures ? "categories" : "images");
  // After the whole file is read: annotations may come before what they refer to.
  std::unordered_map<int64_t, size_t> category_of;
  for (const auto& [id, name] : categories) {
    category_of[id] = all.class_names.size();
    all.class_names.push_back(name);
    all.category_ids.push_back(id);
  }
  std::unordered_map<int64_t, size_t> picture_of;
  for (size_t i = 0; i < all.pictures.size(); ++i) {
    const bool is_new = picture_of.emplace(all.pictures[i].id, i).second;
    TY_REQUIRE(is_new, "{}: image {} is listed twice", origin, all.pictures[i].id);
  }
  for (const RawObject& object : raw) {
    const auto picture = picture_of.find(*object.image_id);
    TY_REQUIRE(picture != picture_of.end(), "{}: annotation {} is of image {}, which is not listed",
               origin, all.objects.size(), *object.image_id);
    const auto category = category_of.find(*object.category_id);
    TY_REQUIRE(category != category_of.end(),
               "{}: annotation {} is of category {}, which is not listed", origin,
               all.objects.size(), *object.category_id);
    // The area of COCO's files is that of the mask; a file without masks may leave it out.
    all.objects.push_back({.picture = picture->second,
                           .category = category->second,
                           .x = object.bbox[0],
                           .y = object.bbox[1],
                           .width = object.bbox[2],
                           .height = object.bbox[3],
                           .area = object.area.value_or(object.bbox[2] * object.bbox[3]),
                           .crowd = object.crowd});
  }
  return all;
}

std::vector<CocoResult> read_coco_results(std::string_view json, std::string_view origin) {
  JsonReader reader(json, origin);
  std::vector<CocoResult> results;
  each_item(reader, [&] {
    const RawObject object = read_raw_object(reader);
    if (!object.score) reader.fail("a detection has no score");
    results.push_back({.image_id = *object.image_id,
                       .category_id = *object.category_id,
                       .x = object.bbox[0],
                       .y = object.bbox[1],
                       .width = object.bbox[2],
                       .height = object.bbox[3],
                       .score = *object.score});
  });
  reader.finish();
  return results;
}

}  // namespace trainyard::data
