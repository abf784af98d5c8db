#include "detect/score_files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/boxes/box_set.h"
#include "data/boxes/coco.h"
#include "data/boxes/voc.h"
#include "data/numbers.h"

namespace trainyard::detect {
namespace {

namespace fs = std::filesystem;

constexpr double kFarthest = 1e9;

// Names in the order in which they were first seen, with a number each.
class NameTable {
 public:
  explicit NameTable(std::vector<std::string>& names) : names_(names) {
    for (size_t i = 0; i < names.size(); ++i) index_[names[i]] = static_cast<int64_t>(i);
  }

  int64_t add(const std::string& name) {
    const auto [found, is_new] = index_.emplace(name, static_cast<int64_t>(names_.size()));
    if (is_new) names_.push_back(name);
    return found->second;
  }

 private:
  std::vector<std::string>& names_;
  std::unordered_map<std::string, int64_t> index_;
};

// The number of a name that must be there.
class KnownNames {
 public:
  KnownNames(const std::vector<std::string>& names, const char* what) : names_(names), what_(what) {
    for (size_t i = 0; i < names.size(); ++i) index_[names[i]] = static_cast<int64_t>(i);
  }

  bool has(const std::string& name) const { return index_.contains(name); }
  int64_t at(const std::string& name, std::string_view where) const {
    const auto found = index_.find(name);
    TY_REQUIRE(found != index_.end(), "{}: the truth has no {} '{}'.{}", where, what_, name,
               did_you_mean(name, names_));
    return found->second;
  }

 private:
  const std::vector<std::string>& names_;
  const char* what_;
  std::unordered_map<std::string, int64_t> index_;
};

// Sorted, so that classes and pictures are numbered the same on every machine.
std::vector<fs::path> text_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt" && entry.is_regular_file()) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

using LineReader =
    std::function<void(const std::vector<std::string>& words, const std::string& where)>;

// Words of each line that has any.
void each_line(const fs::path& file, const LineReader& read) {
  const std::string text = read_file(file);
  int64_t number = 0;
  for (const std::string& line : split(text, '\n')) {
    ++number;
    std::vector<std::string> words;
    for (std::string& word : split(line, ' ')) {
      while (!word.empty() && (word.back() == '\r' || word.back() == '\t')) word.pop_back();
      if (!word.empty()) words.push_back(std::move(word));
    }
    if (!words.empty()) read(words, fmt::format("{}, line {}", file.string(), number));
  }
}

Region read_region(const std::vector<std::string>& words, size_t first, BoxNumbers numbers,
                   const std::string& where) {
  std::array<double, 4> n{};
  for (size_t i = 0; i < n.size(); ++i) {
    n[i] = data::parse_real(words[first + i], -kFarthest, kFarthest, where);
  }
  if (numbers == BoxNumbers::kCorners) return {n[0], n[1], n[2], n[3]};
  return {n[0], n[1], n[0] + n[2], n[1] + n[3]};
}

// Matching is quadratic in the boxes of a picture, so a hostile file could keep it busy for hours.
void require_moderate(const TruthFile& file) {
  std::vector<size_t> counts(file.pictures.size(), 0);
  for (const Truth& truth : file.truths) {
    const auto picture = static_cast<size_t>(truth.picture);
    TY_REQUIRE(++counts[picture] <= data::kMostBoxesInPicture,
               "{} has more than {} boxes, which is no picture", file.pictures[picture],
               data::kMostBoxesInPicture);
  }
}

// VOC lists no classes: they are those that occur.
TruthFile read_voc_truths(const fs::path& folder) {
  TruthFile file{
      .format = "voc", .class_names = {}, .pictures = {}, .truths = {}, .category_ids = {}};
  NameTable classes(file.class_names);
  NameTable pictures(file.pictures);
  for (const fs::path& path : data::voc_files(folder)) {
    const int64_t picture = pictures.add(path.stem().string());
    for (const data::VocObject& object : data::read_voc_file(path).objects) {
      file.truths.push_back({.picture = picture,
                             .label = classes.add(object.name),
                             .region = {object.xmin, object.ymin, object.xmax, object.ymax},
                             .difficult = object.difficult});
    }
  }
  return file;
}

TruthFile read_coco_truths(const fs::path& path) {
  const data::CocoAnnotations all = data::read_coco(read_file(path), path.string());
  TruthFile file{.format = "coco",
                 .class_names = all.class_names,
                 .pictures = {},
                 .truths = {},
                 .category_ids = all.category_ids};
  for (const data::CocoPicture& picture : all.pictures) {
    file.pictures.push_back(std::to_string(picture.id));
  }
  // A crowd is neither a hit nor a miss, like VOC's difficult objects.
  for (const data::CocoObject& object : all.objects) {
    file.truths.push_back(
        {.picture = static_cast<int64_t>(object.picture),
         .label = static_cast<int64_t>(object.category),
         .region = {object.x, object.y, object.x + object.width, object.y + object.height},
         .difficult = object.crowd});
  }
  return file;
}

TruthFile read_text_truths(const std::vector<fs::path>& files, BoxNumbers numbers) {
  TruthFile file{
      .format = "text", .class_names = {}, .pictures = {}, .truths = {}, .category_ids = {}};
  NameTable classes(file.class_names);
  for (const fs::path& path : files) {
    const auto picture = static_cast<int64_t>(file.pictures.size());
    file.pictures.push_back(path.stem().string());
    each_line(path, [&](const std::vector<std::string>& words, const std::string& where) {
      TY_REQUIRE(words.size() == 5, "{}: expected a class and four numbers, found {} words", where,
                 words.size());
      file.truths.push_back({.picture = picture,
                             .label = classes.add(words[0]),
                             .region = read_region(words, 1, numbers, where)});
    });
  }
  return file;
}

std::vector<Detection> read_coco_detections(const fs::path& path, const TruthFile& truth) {
  TY_REQUIRE(!truth.category_ids.empty(),
             "{}: results of COCO go by ids, which only a COCO file of truths has", path.string());
  std::unordered_map<int64_t, int64_t> class_of;
  for (size_t i = 0; i < truth.category_ids.size(); ++i) {
    class_of[truth.category_ids[i]] = static_cast<int64_t>(i);
  }
  std::unordered_map<int64_t, int64_t> picture_of;
  for (size_t i = 0; i < truth.pictures.size(); ++i) {
    picture_of[std::stoll(truth.pictures[i])] = static_cast<int64_t>(i);
  }
  std::vector<Detection> detections;
  for (const data::CocoResult& found : data::read_coco_results(read_file(path), path.string())) {
    const auto picture = picture_of.find(found.image_id);
    const auto label = class_of.find(found.category_id);
    TY_REQUIRE(picture != picture_of.end(),
               "{}: detection {} is of image {}, which the truth does not have", path.string(),
               detections.size(), found.image_id);
    TY_REQUIRE(label != class_of.end(),
               "{}: detection {} is of category {}, which the truth does not have", path.string(),
               detections.size(), found.category_id);
    detections.push_back(
        {.picture = picture->second,
         .label = label->second,
         .score = found.score,
         .region = {found.x, found.y, found.x + found.width, found.y + found.height}});
  }
  return detections;
}

// CLASS.txt or comp4_det_test_CLASS.txt.
int64_t class_of_file(const fs::path& file, const KnownNames& classes) {
  const std::string stem = file.stem().string();
  for (size_t at = 0; at != std::string::npos;) {
    if (classes.has(stem.substr(at))) return classes.at(stem.substr(at), file.string());
    at = stem.find('_', at);
    if (at != std::string::npos) ++at;
  }
  return classes.at(stem, file.string());
}

std::vector<Detection> read_text_detections(const fs::path& folder, const TruthFile& truth,
                                            BoxNumbers numbers) {
  const std::vector<fs::path> files = text_files(folder);
  TY_REQUIRE(!files.empty(), "{}: expected text files with detections", folder.string());
  const KnownNames pictures(truth.pictures, "picture");
  const KnownNames classes(truth.class_names, "class");
  // One file that is named like a picture decides for all; a folder has one form.
  const bool by_picture = std::any_of(files.begin(), files.end(), [&](const fs::path& file) {
    return pictures.has(file.stem().string());
  });
  std::vector<Detection> detections;
  for (const fs::path& file : files) {
    const int64_t own = by_picture ? pictures.at(file.stem().string(), file.string())
                                   : class_of_file(file, classes);
    each_line(file, [&](const std::vector<std::string>& words, const std::string& where) {
      TY_REQUIRE(words.size() == 6, "{}: expected a {}, a score and four numbers, found {} words",
                 where, by_picture ? "class" : "picture", words.size());
      const int64_t other = by_picture ? classes.at(words[0], where) : pictures.at(words[0], where);
      detections.push_back(
          {.picture = by_picture ? own : other,
           .label = by_picture ? other : own,
           .score = data::parse_real(words[1], -kFarthest, kFarthest, where),
           // VOC's own files always have corners.
           .region = read_region(words, 2, by_picture ? numbers : BoxNumbers::kCorners, where)});
    });
  }
  return detections;
}

}  // namespace

// By what is there: a file is COCO's, XML files are VOC's, text files one a picture.
TruthFile read_truths(const fs::path& path, BoxNumbers numbers) {
  TY_REQUIRE(fs::exists(path), "there is no {}", path.string());
  TruthFile file;
  if (!fs::is_directory(path)) {
    file = read_coco_truths(path);
  } else {
    const fs::path inner = path / "Annotations";
    const fs::path folder = fs::is_directory(inner) ? inner : path;
    if (!data::voc_files(folder).empty()) {
      file = read_voc_truths(folder);
    } else {
      const std::vector<fs::path> files = text_files(path);
      TY_REQUIRE(!files.empty(),
                 "{}: expected XML files of Pascal VOC or text files, one a picture",
                 path.string());
      file = read_text_truths(files, numbers);
    }
  }
  require_moderate(file);
  return file;
}

std::vector<Detection> read_detections(const fs::path& path, const TruthFile& truth,
                                       BoxNumbers numbers) {
  TY_REQUIRE(fs::exists(path), "there is no {}", path.string());
  std::vector<Detection> detections = fs::is_directory(path)
                                          ? read_text_detections(path, truth, numbers)
                                          : read_coco_detections(path, truth);
  // COCO's results may be any numbers of JSON; sums of coordinates may overflow.
  for (const Detection& each : detections) {
    TY_REQUIRE(std::isfinite(each.score) && std::isfinite(each.region.left + each.region.top +
                                                          each.region.right + each.region.bottom),
               "{}: a detection has a number that is not finite", path.string());
  }
  return detections;
}

}  // namespace trainyard::detect
