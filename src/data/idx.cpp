// IDX, the format of MNIST: big-endian magic number and dimensions, then bytes.
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "data/numbers.h"
#include "data/readers.h"
#include "data/unpack.h"

namespace trainyard::data {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr int64_t kMostContent = int64_t{1} << 40;

// An IDX file of bytes; `body` is where they begin.
struct IdxFile {
  std::string name;
  std::string content;
  std::vector<int64_t> dims;
  size_t body = 0;
};

uint8_t byte_at(const std::string& content, size_t at) {
  return static_cast<uint8_t>(content[at]);
}

// Checks all before the first pixel is used: the magic number, dimensions and the size of the file.
IdxFile read_idx(const std::filesystem::path& path, size_t rank, std::string_view what) {
  IdxFile file{.name = path.string(), .content = read_unpacked(path), .dims = {}, .body = 0};
  const std::string& content = file.content;
  file.body = 4 + 4 * rank;
  TY_REQUIRE(content.size() >= file.body,
             "{}: {} bytes are too few for the {}-byte header of an IDX file of {}", file.name,
             content.size(), file.body, what);
  TY_REQUIRE(
      byte_at(content, 0) == 0 && byte_at(content, 1) == 0 &&
          byte_at(content, 2) == kUnsignedByte && byte_at(content, 3) == rank,
      "{}: byte 0: the magic number is {:02x} {:02x} {:02x} {:02x}, expected 00 00 08 {:02x} "
      "(IDX, unsigned bytes, {})",
      file.name, byte_at(content, 0), byte_at(content, 1), byte_at(content, 2), byte_at(content, 3),
      rank, what);
  int64_t bytes = 1;
  for (size_t d = 0; d < rank; ++d) {
    int64_t dim = 0;
    for (size_t b = 0; b < 4; ++b) dim = dim * 256 + byte_at(content, 4 + 4 * d + b);
    TY_REQUIRE(dim > 0 && (d == 0 || dim <= kLargestSide),
               "{}: byte {}: dimension {} is {}, expected 1 to {}", file.name, 4 + 4 * d, d, dim,
               kLargestSide);
    file.dims.push_back(dim);
    // Divided, not multiplied, so that hostile dimensions cannot overflow.
    TY_REQUIRE(bytes <= kMostContent / dim, "{}: byte {}: the dimensions ask for more than 1 TiB",
               file.name, 4 + 4 * d);
    bytes *= dim;
  }
  const auto found = static_cast<int64_t>(content.size() - file.body);
  TY_REQUIRE(found == bytes,
             "{}: the header promises {} ({} bytes after byte {}), found {} bytes{}", file.name,
             what, bytes, file.body, found, found < bytes ? "; the file is cut short" : "");
  return file;
}

// MNIST's own spelling and the one with a dot that some copies have, compressed or not.
std::filesystem::path find_file(const std::filesystem::path& folder, Split split,
                                const std::string& kind) {
  const std::string stem = (split == Split::kTrain ? "train-" : "t10k-") + kind;
  for (const char separator : {'-', '.'}) {
    for (const char* suffix : {"", ".gz"}) {
      std::filesystem::path path =
          folder / (stem + separator + (kind == "images" ? "idx3" : "idx1") + "-ubyte" + suffix);
      if (std::filesystem::exists(path)) return path;
    }
  }
  return {};
}

std::filesystem::path require_file(const std::filesystem::path& folder, Split split,
                                   const std::string& kind) {
  std::filesystem::path path = find_file(folder, split, kind);
  TY_REQUIRE(!path.empty(), "{}: there is no {}-{}-{}-ubyte, with or without .gz", folder.string(),
             split == Split::kTrain ? "train" : "t10k", kind, kind == "images" ? "idx3" : "idx1");
  return path;
}

class Idx final : public Dataset {
 public:
  Idx(DatasetInfo info, IdxFile images, IdxFile labels)
      : Dataset(std::move(info)), images_(std::move(images)), labels_(std::move(labels)) {}

  int64_t size() const override { return images_.dims[0]; }
  int64_t label(int64_t index) const override {
    return byte_at(labels_.content, labels_.body + static_cast<size_t>(index));
  }
  PixelView pixels(int64_t index, Pixels& /*room*/) const override {
    const auto* first = reinterpret_cast<const uint8_t*>(images_.content.data()) + images_.body;
    return {shape(), first + index * shape().elements()};
  }

 private:
  IdxFile images_;
  IdxFile labels_;
};

}  // namespace

std::unique_ptr<Dataset> open_idx(const std::filesystem::path& folder, Split split,
                                  std::vector<std::string> class_names) {
  IdxFile images = read_idx(require_file(folder, split, "images"), 3, "images x rows x columns");
  IdxFile labels = read_idx(require_file(folder, split, "labels"), 1, "labels");
  TY_REQUIRE(images.dims[0] == labels.dims[0], "{} holds {} labels, but {} holds {} images",
             labels.name, labels.dims[0], images.name, images.dims[0]);
  // Here once, so that label() need not check.
  for (size_t at = labels.body; at < labels.content.size(); ++at) {
    TY_REQUIRE(byte_at(labels.content, at) < class_names.size(),
               "{}: byte {}: label {} is outside 0 to {}; a set with more classes is named as "
               "mnist:DIR,classes=N",
               labels.name, at, byte_at(labels.content, at), class_names.size() - 1);
  }
  DatasetInfo info{
      .shape = {1, images.dims[1], images.dims[2]},
      .class_names = std::move(class_names),
      .source = fmt::format("IDX files in {}, {} split", folder.string(), split_name(split))};
  return std::make_unique<Idx>(std::move(info), std::move(images), std::move(labels));
}

bool is_idx_folder(const std::filesystem::path& folder) {
  return !find_file(folder, Split::kTrain, "images").empty() ||
         !find_file(folder, Split::kTest, "images").empty();
}

}  // namespace trainyard::data
