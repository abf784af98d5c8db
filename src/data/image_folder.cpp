// A folder per class with JPEG, PNG, BMP and GIF pictures, decoded when they are asked for.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/image.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

std::string extension_of(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return extension;
}

bool is_picture(const fs::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png" ||
         extension == ".bmp" || extension == ".gif";
}

// Formats that people have pictures in and that are not read here.
bool is_other_picture(const fs::path& path) {
  const std::string extension = extension_of(path);
  return extension == ".webp" || extension == ".tif" || extension == ".tiff";
}

// Empty unless there are such files, which would otherwise vanish without a word.
std::string left_out(const fs::path& place, const std::vector<std::string>& classes) {
  int64_t count = 0;
  for (const std::string& name : classes) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place / name)) {
      count += static_cast<int64_t>(is_other_picture(entry.path()));
    }
  }
  if (count == 0) return "";
  return fmt::format("; {} of .webp or .tif {} not read",
                     count == 1 ? "1 file" : fmt::format("{} files", count),
                     count == 1 ? "is" : "are");
}

// Sorted by name: the order of a directory differs from machine to machine.
std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with(".")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> pictures(const fs::path& folder) {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && is_picture(entry.path())) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct File {
  std::string path;
  int64_t label = 0;
};

class ImageFolder final : public Dataset {
 public:
  ImageFolder(DatasetInfo info, std::vector<File> files)
      : Dataset(std::move(info)), files_(std::move(files)) {}

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  int64_t label(int64_t index) const override { return files_[static_cast<size_t>(index)].label; }
  std::string sample_name(int64_t index) const override {
    return files_[static_cast<size_t>(index)].path;
  }
  PixelView pixels(int64_t index, Pixels& room) const override {
    const std::string& path = files_[static_cast<size_t>(index)].path;
    const Image image = read_image(path);
    TY_REQUIRE(
        !shape().is_fixed() || (image.height == shape().height && image.width == shape().width),
        "{}: {} x {}, but the others are {} x {}; it was changed", path, image.height, image.width,
        shape().height, shape().width);
    to_planes(image, room);
    return room.view();
  }

 private:
  std::vector<File> files_;
};

// The size that all pictures have by their headers; zeros where they differ.
PictureShape common_shape(const std::vector<File>& files) {
  PictureSize common;
  for (const File& file : files) {
    const PictureSize size = picture_size(read_file(file.path));
    if (size == PictureSize{}) continue;  // whoever reads it says what is wrong
    if (common == PictureSize{}) common = size;
    if (size != common) return {kColors, 0, 0};
  }
  return {kColors, common.height, common.width};
}

// Where the split is: DIR/train, DIR/val or DIR/test; a folder of classes alone is for training.
fs::path split_folder(const fs::path& folder, Split split) {
  if (!fs::is_directory(folder / "train")) {
    TY_REQUIRE(split == Split::kTrain,
               "{}: there is no test split; expected folders train and val (or test) in it, or a "
               "share of its images to hold out (val_split)",
               folder.string());
    return folder;
  }
  if (split == Split::kTrain) return folder / "train";
  for (const char* name : {"val", "test"}) {
    if (fs::is_directory(folder / name)) return folder / name;
  }
  throw_error("{}: there is neither val nor test beside train", folder.string());
}

// An empty folder that the training split has too is no wrong name.
void require_class(const std::string& name, const std::vector<std::string>& names,
                   const fs::path& place, const fs::path& train) {
  const bool known = std::find(names.begin(), names.end(), name) != names.end() ||
                     (fs::is_directory(train / name) && pictures(place / name).empty());
  TY_REQUIRE(known, "{}: class '{}' is not among the {} classes of {}.{}", place.string(), name,
             names.size(), train.string(), did_you_mean(name, names));
}

// Removes from `names` the class folders of `place` that have no picture. Throws Error naming all
// of them unless they may be left out.
void leave_out_empty(const fs::path& place, std::vector<std::string>& names,
                     const OpenOptions& options) {
  std::vector<std::string> empty;
  std::erase_if(names, [&](const std::string& name) {
    if (!pictures(place / name).empty()) return false;
    empty.push_back(name);
    return true;
  });
  TY_REQUIRE(empty.empty() || options.empty_classes != nullptr,
             "{}: no .jpg, .jpeg, .png, .bmp or .gif file in the class folder{} {}; fill or remove "
             "{}, or leave "
             "{} out (skip_bad_files)",
             place.string(), empty.size() == 1 ? "" : "s", join(empty, ", "),
             empty.size() == 1 ? "it" : "them", empty.size() == 1 ? "it" : "them");
  TY_REQUIRE(!names.empty(), "{}: no .jpg, .jpeg, .png, .bmp or .gif file in any class folder",
             place.string());
  for (const std::string& name : empty) {
    options.empty_classes->push_back(fmt::format("{}: no picture in it", (place / name).string()));
  }
}

}  // namespace

std::unique_ptr<Dataset> open_image_folder(const fs::path& folder, Split split,
                                           const OpenOptions& options) {
  // The training split says what the classes are.
  const fs::path train = split_folder(folder, Split::kTrain);
  std::vector<std::string> names = class_folders(train);
  TY_REQUIRE(!names.empty(), "{}: expected a folder per class, found none", train.string());
  leave_out_empty(train, names, options);
  const fs::path place = split_folder(folder, split);
  std::vector<File> files;
  std::vector<std::string> filled = names;
  if (place != train) {
    filled = class_folders(place);
    for (const std::string& name : filled) require_class(name, names, place, train);
    leave_out_empty(place, filled, options);
  }
  for (const std::string& name : filled) {
    const auto found = std::find(names.begin(), names.end(), name);
    for (const std::string& path : pictures(place / name))
      files.push_back({path, found - names.begin()});
  }
  TY_REQUIRE(!files.empty(), "{}: expected a folder per class, found none", place.string());
  DatasetInfo info{.shape = common_shape(files),
                   .class_names = names,
                   .source = fmt::format("pictures in {}, {} split{}", place.string(),
                                         split_name(split), left_out(place, class_folders(place)))};
  return std::make_unique<ImageFolder>(std::move(info), std::move(files));
}

bool is_image_folder(const fs::path& folder) {
  for (const std::string& name : class_folders(folder)) {
    if (name == "train" || !pictures(folder / name).empty()) return true;
  }
  return false;
}

}  // namespace trainyard::data
