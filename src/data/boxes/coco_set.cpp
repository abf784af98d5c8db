// coco:F.json:IMAGES: training from F.json; the test from the file beside it (instances_val… for
// instances_train…), or else from every fifth picture.
#include "base/error.h"
#include "base/file.h"
#include "data/boxes/box_set.h"
#include "data/boxes/coco.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

// COCO keeps the pictures of a split in a folder of its name.
std::string coco_picture(const fs::path& images, const fs::path& list, const std::string& name) {
  const fs::path inside = fs::path(name).lexically_normal();
  TY_REQUIRE(!name.empty() && inside.is_relative() && *inside.begin() != "..",
             "{}: an image has the file name '{}', expected one inside of {}", list.string(), name,
             images.string());
  for (const char* folder : {"", "train2017", "val2017", "train", "val", "test"}) {
    const fs::path path = images / folder / name;
    if (fs::is_regular_file(path)) return path.string();
  }
  throw_error("{}: there is no picture {} in {}", list.string(), name, images.string());
}

}  // namespace

std::unique_ptr<Dataset> open_coco(const fs::path& file, const fs::path& images, Split split) {
  const fs::path own = split_file(file, split);
  const fs::path other = split_file(file, Split::kTest);
  const fs::path list = own.empty() ? file : own;
  CocoAnnotations all = read_coco(read_file(list), list.string());
  if (list != file) {
    const CocoAnnotations training = read_coco(read_file(file), file.string());
    TY_REQUIRE(training.class_names == all.class_names,
               "{} and {} have different categories; classes go by the order of their ids",
               file.string(), list.string());
  }
  std::vector<std::vector<RawBox>> boxes(all.pictures.size());
  for (size_t i = 0; i < all.objects.size(); ++i) {
    const CocoObject& object = all.objects[i];
    boxes[object.picture].push_back({.left = object.x,
                                     .top = object.y,
                                     .right = object.x + object.width,
                                     .bottom = object.y + object.height,
                                     .label = static_cast<int64_t>(object.category),
                                     .difficult = object.crowd,
                                     .where = fmt::format("{}, annotation {}", list.string(), i)});
  }
  BoxSetMaker maker;
  for (size_t i = 0; i < all.pictures.size(); ++i) {
    if (other.empty() && !belongs_to(static_cast<int64_t>(i), split)) continue;
    const CocoPicture& picture = all.pictures[i];
    maker.add(coco_picture(images, list, picture.file_name), {picture.height, picture.width},
              boxes[i]);
  }
  return maker.finish(std::move(all.class_names),
                      fmt::format("COCO in {}, {} split", list.string(), split_name(split)));
}

}  // namespace trainyard::data
