// The binary versions of CIFAR-10 and CIFAR-100: records of label bytes and 3x32x32 pixels.
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

constexpr PictureShape kShape = {3, 32, 32};

// What sets the two versions apart.
struct Layout {
  std::string_view name;
  std::vector<std::string> train_files;
  std::string test_file;
  std::string names_file;
  int64_t label_bytes;  // the last one is the label that counts
  std::vector<std::string> default_names;

  int64_t record() const { return label_bytes + kShape.elements(); }
};

const Layout& cifar10() {
  static const Layout kLayout = {
      "CIFAR-10",
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
       "data_batch_5.bin"},
      "test_batch.bin",
      "batches.meta.txt",
      1,
      {"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"}};
  return kLayout;
}

const Layout& cifar100() {
  static const Layout kLayout = {
      "CIFAR-100", {"train.bin"}, "test.bin", "fine_label_names.txt", 2, numbered_classes(100)};
  return kLayout;
}

// Copies of the data without the file of names are common, so known names stand in.
std::vector<std::string> class_names(const Layout& layout, const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / layout.names_file;
  if (!std::filesystem::exists(path)) return layout.default_names;
  std::vector<std::string> names;
  for (std::string& line : split(read_file(path), '\n')) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
  }
  TY_REQUIRE(names.size() == layout.default_names.size(), "{}: {} class names, expected {}",
             path.string(), names.size(), layout.default_names.size());
  return names;
}

class Cifar final : public Dataset {
 public:
  Cifar(DatasetInfo info, const Layout& layout, const std::filesystem::path& folder, Split split)
      : Dataset(std::move(info)), layout_(layout) {
    const std::vector<std::string> test = {layout.test_file};
    for (const std::string& name : split == Split::kTrain ? layout.train_files : test) {
      add_file(folder / name);
    }
  }

  int64_t size() const override { return static_cast<int64_t>(records_.size()); }
  // CIFAR-100 has the coarse label first, the fine one last.
  int64_t label(int64_t index) const override {
    return records_[static_cast<size_t>(index)][layout_.label_bytes - 1];
  }
  // Pixels are used where they are mapped; the layout of the file, planes of colors, is that of
  // PixelView.
  PixelView pixels(int64_t index, Pixels& /*room*/) const override {
    return {kShape, records_[static_cast<size_t>(index)] + layout_.label_bytes};
  }

 private:
  void add_file(const std::filesystem::path& path) {
    files_.push_back(std::make_unique<MappedFile>(path));
    const std::span<const std::byte> bytes = files_.back()->bytes();
    const auto size = static_cast<int64_t>(bytes.size());
    const int64_t record = layout_.record();
    // Nothing else in these files tells a wrong one from a right one.
    TY_REQUIRE(size > 0 && size % record == 0,
               "{}: {} bytes is no whole number of {} records of {} bytes; record {} at byte {} is "
               "cut short",
               path.string(), size, layout_.name, record, size / record, size / record * record);
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    for (int64_t at = 0; at < size; at += record) {
      const uint8_t label = data[at + layout_.label_bytes - 1];
      TY_REQUIRE(label < num_classes(), "{}: byte {}: label {} is outside 0 to {}", path.string(),
                 at + layout_.label_bytes - 1, label, num_classes() - 1);
      records_.push_back(data + at);
    }
  }

  const Layout& layout_;
  std::vector<std::unique_ptr<MappedFile>> files_;
  std::vector<const uint8_t*> records_;
};

std::unique_ptr<Dataset> open_cifar(const Layout& layout, const std::filesystem::path& folder,
                                    Split split) {
  DatasetInfo info{.shape = kShape,
                   .class_names = class_names(layout, folder),
                   .source = fmt::format("{} binary files in {}, {} split", layout.name,
                                         folder.string(), split_name(split))};
  return std::make_unique<Cifar>(std::move(info), layout, folder, split);
}

}  // namespace

std::unique_ptr<Dataset> open_cifar10(const std::filesystem::path& folder, Split split) {
  return open_cifar(cifar10(), folder, split);
}

std::unique_ptr<Dataset> open_cifar100(const std::filesystem::path& folder, Split split) {
  return open_cifar(cifar100(), folder, split);
}

// One part is enough: a test set may be there alone.
bool is_cifar10_folder(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / cifar10().train_files[0]) ||
         std::filesystem::exists(folder / cifar10().test_file);
}

bool is_cifar100_folder(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / cifar100().train_files[0]) ||
         std::filesystem::exists(folder / cifar100().test_file);
}

}  // namespace trainyard::data
