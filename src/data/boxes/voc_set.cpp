// voc:DIR[:LIST]: Annotations/*.xml, JPEGImages/*.jpg and ImageSets/Main/*.txt, as the Pascal VOC
// development kit has them; without ImageSets every fifth picture is for the test.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/boxes/box_set.h"
#include "data/boxes/voc.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

// The first of these that is there.
fs::path first_folder(const fs::path& folder, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (fs::is_directory(folder / name)) return folder / name;
  }
  return {};
}

// Lines of "name" or "name 1"; lists of one class mark pictures without it by -1.
std::vector<std::string> read_list(const fs::path& path) {
  std::vector<std::string> names;
  for (const std::string& line : split(read_file(path), '\n')) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos) continue;
    const size_t end = line.find_first_of(" \t\r", begin);
    names.push_back(line.substr(begin, end == std::string::npos ? end : end - begin));
  }
  TY_REQUIRE(!names.empty(), "{}: the list is empty", path.string());
  return names;
}

class VocFolder {
 public:
  VocFolder(fs::path folder, std::string lists)
      : folder_(std::move(folder)),
        lists_(std::move(lists)),
        annotations_(first_folder(folder_, {"Annotations", "annotations"})),
        images_(first_folder(folder_, {"JPEGImages", "images", "Images"})),
        list_folder_(first_folder(folder_, {"ImageSets/Main"})) {
    TY_REQUIRE(!annotations_.empty(), "{}: expected a folder Annotations with XML files in it",
               folder_.string());
    TY_REQUIRE(!images_.empty(), "{}: expected a folder JPEGImages or images", folder_.string());
  }

  // The annotation files of the split.
  std::vector<fs::path> files(Split split) const {
    const fs::path list = list_of(split);
    std::vector<fs::path> files;
    if (!list.empty()) {
      for (const std::string& name : read_list(list)) {
        files.push_back(annotations_ / (name + ".xml"));
        TY_REQUIRE(fs::is_regular_file(files.back()), "{}: there is no {}", list.string(),
                   files.back().string());
      }
      return files;
    }
    const std::vector<fs::path> all = voc_files(annotations_);
    for (size_t i = 0; i < all.size(); ++i) {
      if (belongs_to(static_cast<int64_t>(i), split)) files.push_back(all[i]);
    }
    return files;
  }

  // Beside the annotation by its own name, or by the one it says.
  std::string picture_of(const fs::path& annotation, const std::string& filename) const {
    for (const char* extension : {".jpg", ".jpeg", ".png", ".JPG"}) {
      const fs::path path = images_ / (annotation.stem().string() + extension);
      if (fs::is_regular_file(path)) return path.string();
    }
    const fs::path named = images_ / fs::path(filename).filename();
    TY_REQUIRE(!filename.empty() && fs::is_regular_file(named),
               "{}: there is no picture {}.jpg or {} in {}", annotation.string(),
               annotation.stem().string(), filename, images_.string());
    return named.string();
  }

  // labels.txt if it is there; else the names in the annotations for training, sorted.
  std::vector<std::string> class_names() const {
    for (const char* name : {"labels.txt", "classes.txt"}) {
      if (fs::is_regular_file(folder_ / name)) return read_lines(folder_ / name);
    }
    std::set<std::string> names;
    for (const fs::path& file : files(Split::kTrain)) {
      for (const VocObject& object : read_voc_file(file).objects) names.insert(object.name);
    }
    TY_REQUIRE(!names.empty(), "{}: no annotation for training has an object", folder_.string());
    return {names.begin(), names.end()};
  }

  std::string source(Split split) const {
    const fs::path list = list_of(split);
    return fmt::format("Pascal VOC in {}, {} split ({})", folder_.string(), split_name(split),
                       list.empty() ? std::string("every fifth picture is for the test")
                                    : list.filename().string());
  }

 private:
  static std::vector<std::string> read_lines(const fs::path& path) {
    std::vector<std::string> lines;
    for (std::string line : split(read_file(path), '\n')) {
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty()) lines.push_back(std::move(line));
    }
    return lines;
  }

  // The list of ImageSets/Main that is meant; empty: there are none.
  fs::path list_of(Split split) const {
    if (list_folder_.empty()) {
      TY_REQUIRE(lists_.empty(), "{}: there is no ImageSets/Main, so no list '{}'",
                 folder_.string(), lists_);
      return {};
    }
    const size_t slash = lists_.find('/');
    if (!lists_.empty()) {
      const std::string name = slash == std::string::npos ? lists_
                               : split == Split::kTrain   ? lists_.substr(0, slash)
                                                          : lists_.substr(slash + 1);
      fs::path path = list_folder_ / (name + ".txt");
      TY_REQUIRE(fs::is_regular_file(path), "there is no {}.{}", path.string(),
                 did_you_mean(name, list_names()));
      return path;
    }
    const bool tested = fs::is_regular_file(list_folder_ / "test.txt");
    const std::vector<const char*> wanted = split == Split::kTest ? std::vector{"test", "val"}
                                            : tested              ? std::vector{"trainval", "train"}
                                                     : std::vector{"train", "trainval"};
    for (const char* name : wanted) {
      fs::path path = list_folder_ / (std::string(name) + ".txt");
      if (fs::is_regular_file(path)) return path;
    }
    throw_error("{}: found neither {}.txt nor {}.txt for the {} split", list_folder_.string(),
                wanted[0], wanted[1], split_name(split));
  }

  std::vector<std::string> list_names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(list_folder_)) {
      names.push_back(entry.path().stem().string());
    }
    return names;
  }

  fs::path folder_;
  std::string lists_;
  fs::path annotations_;
  fs::path images_;
  fs::path list_folder_;
};

}  // namespace

std::unique_ptr<Dataset> open_voc(const fs::path& folder, const std::string& lists, Split split) {
  const VocFolder voc(folder, lists);
  std::vector<std::string> names = voc.class_names();
  BoxSetMaker maker;
  for (const fs::path& file : voc.files(split)) {
    const VocAnnotation annotation = read_voc_file(file);
    std::vector<RawBox> boxes;
    for (const VocObject& object : annotation.objects) {
      const std::string where = fmt::format("{}, object {}", file.string(), boxes.size() + 1);
      // From inclusive pixels that count from one to a range that ends before its end.
      boxes.push_back({.left = object.xmin - 1,
                       .top = object.ymin - 1,
                       .right = object.xmax,
                       .bottom = object.ymax,
                       .label = class_index(names, object.name, where),
                       .difficult = object.difficult,
                       .where = where});
    }
    maker.add(voc.picture_of(file, annotation.filename), {}, boxes);
  }
  return maker.finish(std::move(names), voc.source(split));
}

bool is_voc_folder(const fs::path& folder) {
  const fs::path annotations = first_folder(folder, {"Annotations", "annotations"});
  return !annotations.empty() && !voc_files(annotations).empty();
}

}  // namespace trainyard::data
