// csv:F.csv:IMAGES: a line for each box with filename, class, xmin, ymin, xmax, ymax in pixels.
// openimages:F.csv:IMAGES[:CLASS,CLASS]: ImageID, LabelName or ClassName, XMin, XMax, YMin, YMax in
// 0..1, names of labels from class-descriptions-boxable.csv beside it.
// Both: the test is the file beside F.csv that has test or val for "train" in its name, or else
// every fifth picture.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/boxes/box_set.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

struct NamedBox {
  std::string name;  // of the class
  RawBox box;
};
// By picture, as the file names it, sorted.
using BoxesOfPictures = std::map<std::string, std::vector<NamedBox>>;

CsvTable read_table(const fs::path& path) {
  return CsvTable::parse(read_file(path), path.string());
}

// A set from the boxes of one file, cut into splits where there is no second file.
std::unique_ptr<Dataset> make_csv_set(const BoxesOfPictures& pictures,
                                      std::vector<std::string> names, bool cut, Split split,
                                      const std::function<std::string(const std::string&)>& path_of,
                                      std::string source) {
  BoxSetMaker maker;
  int64_t index = 0;
  for (const auto& [picture, found] : pictures) {
    if (cut && !belongs_to(index++, split)) continue;
    const std::string path = path_of(picture);
    const PictureSize size = picture_size_of(path);
    std::vector<RawBox> boxes;
    for (const NamedBox& named : found) {
      RawBox box = named.box;
      box.label = class_index(names, named.name, box.where);
      boxes.push_back(std::move(box));
    }
    maker.add(path, size, boxes);
  }
  return maker.finish(std::move(names), std::move(source));
}

std::vector<std::string> names_in(const BoxesOfPictures& pictures) {
  std::set<std::string> names;
  for (const auto& [picture, boxes] : pictures) {
    for (const NamedBox& named : boxes) names.insert(named.name);
  }
  return {names.begin(), names.end()};
}

BoxesOfPictures read_plain(const fs::path& file) {
  const CsvTable table = read_table(file);
  table.require_columns({"filename", "class", "xmin", "ymin", "xmax", "ymax"});
  BoxesOfPictures pictures;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    pictures[row.text("filename")].push_back(
        {.name = row.text("class"),
         .box = {.left = row.number("xmin"),
                 .top = row.number("ymin"),
                 .right = row.number("xmax"),
                 .bottom = row.number("ymax"),
                 .where = fmt::format("{}, line {}", file.string(), row.line())}});
  }
  return pictures;
}

// /m/01g317 to Person: lines of two fields, without a heading.
std::map<std::string, std::string> read_descriptions(const fs::path& folder) {
  std::map<std::string, std::string> names;
  const fs::path path = folder / "class-descriptions-boxable.csv";
  if (!fs::is_regular_file(path)) return names;
  const CsvTable table = CsvTable::parse("label,name\n" + read_file(path), path.string());
  for (size_t i = 0; i < table.size(); ++i) {
    names[table.row(i).text("label")] = table.row(i).text("name");
  }
  return names;
}

BoxesOfPictures read_openimages(const fs::path& file) {
  const CsvTable table = read_table(file);
  table.require_columns({"ImageID", "XMin", "XMax", "YMin", "YMax"});
  const bool has_names = table.has_column("ClassName");
  const bool has_groups = table.has_column("IsGroupOf");
  if (!has_names) table.require_columns({"LabelName"});
  const std::map<std::string, std::string> names =
      has_names ? std::map<std::string, std::string>{} : read_descriptions(file.parent_path());
  BoxesOfPictures pictures;
  for (size_t i = 0; i < table.size(); ++i) {
    const CsvRow row = table.row(i);
    std::string name = row.text(has_names ? "ClassName" : "LabelName");
    if (const auto found = names.find(name); found != names.end()) name = found->second;
    pictures[row.text("ImageID")].push_back(
        {.name = std::move(name),
         .box = {.left = row.number("XMin"),
                 .top = row.number("YMin"),
                 .right = row.number("XMax"),
                 .bottom = row.number("YMax"),
                 .difficult = has_groups && row.text("IsGroupOf") == "1",
                 .where = fmt::format("{}, line {}", file.string(), row.line())}});
  }
  return pictures;
}

// Keeps the boxes of these classes and the pictures that have one.
void keep_classes(BoxesOfPictures& pictures, const std::vector<std::string>& wanted,
                  const fs::path& file) {
  const std::vector<std::string> names = names_in(pictures);
  for (const std::string& name : wanted) class_index(names, name, file.string());
  for (auto& [id, boxes] : pictures) {
    std::erase_if(boxes, [&](const NamedBox& named) {
      return std::find(wanted.begin(), wanted.end(), named.name) == wanted.end();
    });
  }
  std::erase_if(pictures, [](const auto& entry) { return entry.second.empty(); });
}

constexpr const char* kSplitFolders[] = {"train", "validation", "test"};

// Open Images keeps the pictures of a split in a folder of its name; that of one split stands for
// all.
std::string openimages_picture(const fs::path& images, const std::string& id) {
  const std::string file = id + ".jpg";
  if (fs::is_regular_file(images / file)) return (images / file).string();
  fs::path plain = images.lexically_normal();
  if (!plain.has_filename()) plain = plain.parent_path();
  const bool is_split =
      std::ranges::find(kSplitFolders, plain.filename()) != std::end(kSplitFolders);
  const fs::path above = is_split ? plain.parent_path() : plain;
  for (const char* folder : kSplitFolders) {
    if (fs::is_regular_file(above / folder / file)) return (above / folder / file).string();
  }
  throw_error("there is no picture {} in {} or in train, validation and test of {}", file,
              images.string(), above.empty() ? "." : above.string());
}

// From shares of the sides to pixels.
void scale_boxes(BoxesOfPictures& pictures, const fs::path& images) {
  for (auto& [id, boxes] : pictures) {
    const PictureSize size = picture_size_of(openimages_picture(images, id));
    for (NamedBox& named : boxes) {
      named.box.left *= static_cast<double>(size.width);
      named.box.right *= static_cast<double>(size.width);
      named.box.top *= static_cast<double>(size.height);
      named.box.bottom *= static_cast<double>(size.height);
    }
  }
}

}  // namespace

std::unique_ptr<Dataset> open_box_csv(const fs::path& file, const fs::path& images, Split split) {
  const fs::path own = split_file(file, split);
  const bool cut = split_file(file, Split::kTest).empty();
  const fs::path list = own.empty() ? file : own;
  return make_csv_set(
      read_plain(list), names_in(read_plain(file)), cut, split,
      [&](const std::string& name) {
        const fs::path path = images / name;
        TY_REQUIRE(fs::is_regular_file(path), "{}: there is no picture {}", list.string(),
                   path.string());
        return path.string();
      },
      fmt::format("boxes in {}, {} split", list.string(), split_name(split)));
}

std::unique_ptr<Dataset> open_openimages(const fs::path& file, const fs::path& images,
                                         const std::string& classes, Split split) {
  const fs::path own = split_file(file, split);
  const bool cut = split_file(file, Split::kTest).empty();
  const fs::path list = own.empty() ? file : own;
  BoxesOfPictures pictures = read_openimages(list);
  std::vector<std::string> names =
      classes.empty() ? names_in(read_openimages(file)) : trainyard::split(classes, ',');
  if (!classes.empty()) keep_classes(pictures, names, list);
  scale_boxes(pictures, images);
  return make_csv_set(
      pictures, std::move(names), cut, split,
      [&](const std::string& id) { return openimages_picture(images, id); },
      fmt::format("Open Images in {}, {} split", list.string(), split_name(split)));
}

}  // namespace trainyard::data
