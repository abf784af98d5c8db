#include "data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/numbers.h"
#include "data/readers.h"
#include "data/spec.h"
#include "data/table/table_set.h"
#include "data/text/text_set.h"
#include "data/text/token_set.h"

namespace trainyard::data {
namespace {

constexpr const char* kDebianFashionMnist = "/usr/share/datasets/fashion-mnist";
constexpr int64_t kMostClasses = 1 << 20;
constexpr int64_t kMostSamples = int64_t{1} << 32;

std::unique_ptr<Dataset> open_fashion_mnist(const Spec& spec, Split split) {
  allow_options(spec, {});
  if (spec.place.empty()) {
    TY_REQUIRE(
        std::filesystem::is_directory(kDebianFashionMnist),
        "data set 'fashion-mnist': there is no {}; install Debian's dataset-fashion-mnist, or "
        "say fashion-mnist:DIR",
        kDebianFashionMnist);
  }
  return open_idx(
      spec.place.empty() ? std::filesystem::path(kDebianFashionMnist) : require_place(spec), split,
      {"t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
       "ankle boot"});
}

std::unique_ptr<Dataset> open_mnist(const Spec& spec, Split split) {
  allow_options(spec, {"classes"});
  int64_t classes = 10;
  for (const Option& option : spec.options) {
    classes = parse_whole(option.value, 1, 256, fmt::format("data set '{}': classes", spec.text));
  }
  return open_idx(require_place(spec), split, numbered_classes(classes));
}

// "CxHxW"
PictureShape parse_shape(const Spec& spec) {
  const std::vector<std::string> parts = split(spec.place, 'x');
  TY_REQUIRE(parts.size() == 3, "data set '{}': the shape '{}' is not CxHxW, such as 3x32x32",
             spec.text, spec.place);
  const std::string what = fmt::format("data set '{}': the shape", spec.text);
  return {parse_whole(parts[0], 1, kLargestSide, what),
          parse_whole(parts[1], 1, kLargestSide, what),
          parse_whole(parts[2], 1, kLargestSide, what)};
}

std::unique_ptr<Dataset> open_synthetic(const Spec& spec, Split split) {
  constexpr int64_t kMostBytes = int64_t{1} << 32;
  allow_options(spec, {"classes", "size", "seed"});
  SyntheticOptions options;
  if (!spec.place.empty()) options.shape = parse_shape(spec);
  for (const Option& option : spec.options) {
    const std::string what = fmt::format("data set '{}': {}", spec.text, option.key);
    if (option.key == "classes") {
      options.classes = parse_whole(option.value, 1, kMostClasses, what);
    } else if (option.key == "size") {
      options.size = parse_whole(option.value, 1, kMostSamples, what);
    } else {
      options.seed = static_cast<uint64_t>(parse_whole(option.value, 0, INT64_MAX, what));
    }
  }
  TY_REQUIRE(options.shape.plane() * options.shape.channels <= kMostBytes / options.classes,
             "data set '{}': the {} classes of {} need more than 4 GiB", spec.text, options.classes,
             options.shape.to_string());
  return make_synthetic(options, split);
}

// shapes[:SIDE]
std::unique_ptr<Dataset> open_shapes(const Spec& spec, Split split) {
  constexpr int64_t kSmallestDrawn = 16;
  constexpr int64_t kLargestDrawn = 2048;
  allow_options(spec, {"size", "seed", "classes", "outlined"});
  ShapesOptions options;
  if (!spec.place.empty()) {
    options.side = parse_whole(spec.place, kSmallestDrawn, kLargestDrawn,
                               fmt::format("data set '{}': the side", spec.text));
  }
  for (const Option& option : spec.options) {
    const std::string what = fmt::format("data set '{}': {}", spec.text, option.key);
    if (option.key == "size") {
      options.size = parse_whole(option.value, 1, kMostSamples, what);
    } else if (option.key == "classes") {
      options.classes = parse_whole(option.value, 1, options.classes, what);
    } else if (option.key == "outlined") {
      options.outlined = parse_whole(option.value, 0, 1, what) == 1;
    } else {
      options.seed = static_cast<uint64_t>(parse_whole(option.value, 0, INT64_MAX / 2, what));
    }
  }
  return make_shapes(options, split);
}

// voc:DIR or voc:DIR:LIST
std::unique_ptr<Dataset> open_voc_spec(Spec spec, Split split) {
  std::string lists;
  if (!std::filesystem::is_directory(spec.place)) {
    if (const size_t colon = spec.place.rfind(':'); colon != std::string::npos) {
      lists = spec.place.substr(colon + 1);
      spec.place.resize(colon);
    }
  }
  return open_voc(require_place(spec), lists, split);
}

// openimages:DIR[:CLASSES], a folder as open_images_downloader.py of pytorch-ssd leaves it.
std::unique_ptr<Dataset> open_downloaded(const Spec& spec, const std::vector<std::string>& parts,
                                         Split split) {
  TY_REQUIRE(parts.size() <= 2,
             "data set '{}': expected openimages:DIR or openimages:DIR:CLASS,CLASS", spec.text);
  const std::filesystem::path folder = parts[0];
  for (const char* name : {"sub-train-annotations-bbox.csv", "train-annotations-bbox.csv"}) {
    if (!std::filesystem::is_regular_file(folder / name)) continue;
    return open_openimages(folder / name, folder, parts.size() == 2 ? parts[1] : "", split);
  }
  throw_error(
      "data set '{}': {} has neither sub-train-annotations-bbox.csv nor "
      "train-annotations-bbox.csv",
      spec.text, parts[0]);
}

// NAME:FILE:IMAGES[:CLASSES]
std::unique_ptr<Dataset> open_box_files(const Spec& spec, Split split) {
  const std::vector<std::string> parts = trainyard::split(spec.place, ':');
  if (spec.name == "openimages" && std::filesystem::is_directory(parts[0])) {
    return open_downloaded(spec, parts, split);
  }
  const bool has_classes = spec.name == "openimages";
  TY_REQUIRE(parts.size() == 2 || (has_classes && parts.size() == 3),
             "data set '{}': expected {}:FILE:IMAGES{}", spec.text, spec.name,
             has_classes ? " or openimages:FILE:IMAGES:CLASS,CLASS" : "");
  TY_REQUIRE(std::filesystem::is_regular_file(parts[0]), "data set '{}': there is no file {}",
             spec.text, parts[0]);
  TY_REQUIRE(std::filesystem::is_directory(parts[1]), "data set '{}': {} is not a folder",
             spec.text, parts[1]);
  if (spec.name == "coco") return open_coco(parts[0], parts[1], split);
  if (spec.name == "csv") return open_box_csv(parts[0], parts[1], split);
  return open_openimages(parts[0], parts[1], parts.size() == 3 ? parts[2] : "", split);
}

// A file that is named without its kind, as the kinds that read one want it.
std::string as_a_file(const std::string& place) {
  if (!std::filesystem::is_regular_file(place)) return "";
  return fmt::format(" For the file {0} say csv:{0},target=COLUMN if it is a table, or text:{0}.",
                     place);
}

// What the files in the folder say it is.
std::unique_ptr<Dataset> open_folder(const Spec& spec, Split split, const OpenOptions& options) {
  const std::filesystem::path folder = spec.place;
  TY_REQUIRE(std::filesystem::is_directory(folder),
             "data set '{}': neither a folder nor one of {}.{}{}", spec.text,
             join(known_names(), ", "),
             did_you_mean(spec.place.substr(0, spec.place.find(':')), known_names()),
             as_a_file(spec.place));
  if (is_idx_folder(folder)) return open_mnist(spec, split);
  allow_options(spec, {});
  if (is_cifar10_folder(folder)) return open_cifar10(folder, split);
  if (is_cifar100_folder(folder)) return open_cifar100(folder, split);
  if (is_voc_folder(folder)) return open_voc(folder, "", split);
  if (is_image_folder(folder)) return open_image_folder(folder, split, options);
  throw_error(
      "{}: found neither IDX files (train-images-idx3-ubyte) nor CIFAR files (data_batch_1.bin, "
      "train.bin) nor Annotations of Pascal VOC nor a folder of pictures per class",
      folder.string());
}

// A folder of a format's name, with nothing behind it, is meant.
Spec meant_spec(std::string_view text) {
  Spec spec = parse_spec(text);
  if (spec.place.empty() && names_folder_here(spec.name)) {
    spec.place = std::exchange(spec.name, "");
  }
  return spec;
}

}  // namespace

std::string_view split_name(Split split) {
  return split == Split::kTrain ? "train" : "test";
}

std::vector<std::string> numbered_classes(int64_t count) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}", i));
  return names;
}

std::string Dataset::sample_name(int64_t index) const {
  return fmt::format("sample {} of {}", index, source());
}

bool names_boxes(std::string_view text) {
  const Spec spec = parse_spec(text);
  if (names_table(spec)) return false;
  for (const char* name : {"voc", "coco", "openimages", "csv", "shapes"}) {
    if (spec.name == name) return true;
  }
  return spec.name.empty() && std::filesystem::is_directory(spec.place) &&
         is_voc_folder(spec.place);
}

bool names_folder_here(const std::string& word) {
  return word != "fashion-mnist" && word != "synthetic" && word != "shapes" &&
         std::filesystem::is_directory(word);
}

bool names_tokens(std::string_view text) {
  const std::string name = parse_spec(text).name;
  return name == "tokens" || name == "text";
}

bool names_rows(std::string_view text) {
  return names_table(parse_spec(text));
}

bool foretells_number(std::string_view text) {
  return foretells_number(parse_spec(text));
}

bool names_file(std::string_view option) {
  return option == "test" || option == "tokenizer" || option == "labels" || option == "spans";
}

void Dataset::read_row(int64_t /*index*/, std::span<float> /*row*/) const {
  throw_error("{} is no table", source());
}

void Dataset::read_tokens(int64_t /*index*/, std::span<int64_t> /*now*/,
                          std::span<int64_t> /*next*/) const {
  throw_error("{} has pictures, no tokens", source());
}

bool has_test_split(std::string_view text) {
  const Spec spec = meant_spec(text);
  const bool pictures =
      spec.name == "folder" || (spec.name.empty() && std::filesystem::is_directory(spec.place) &&
                                !is_idx_folder(spec.place) && !is_cifar10_folder(spec.place) &&
                                !is_cifar100_folder(spec.place) && !is_voc_folder(spec.place));
  return !pictures || std::filesystem::is_directory(std::filesystem::path(spec.place) / "train");
}

std::unique_ptr<Dataset> open_dataset(std::string_view text, Split split,
                                      const OpenOptions& options) {
  const Spec spec = meant_spec(text);
  if (spec.name == "tokens") return open_tokens(spec, split, options.length);
  if (spec.name == "text") return open_text(spec, split, options.length);
  TY_REQUIRE(options.length == 0, "length is that of rows of tokens; data set '{}' has none",
             spec.text);
  if (names_table(spec)) return open_table(spec, split, options.table);
  if (spec.name == "fashion-mnist") return open_fashion_mnist(spec, split);
  if (spec.name == "mnist") return open_mnist(spec, split);
  if (spec.name == "synthetic") return open_synthetic(spec, split);
  if (spec.name == "shapes") return open_shapes(spec, split);
  if (spec.name.empty()) return open_folder(spec, split, options);
  allow_options(spec, {});
  if (spec.name == "coco" || spec.name == "csv" || spec.name == "openimages") {
    return open_box_files(spec, split);
  }
  if (spec.name == "voc") return open_voc_spec(spec, split);
  const std::filesystem::path folder = require_place(spec);
  if (spec.name == "cifar10") return open_cifar10(folder, split);
  if (spec.name == "cifar100") return open_cifar100(folder, split);
  return open_image_folder(folder, split, options);
}

}  // namespace trainyard::data
