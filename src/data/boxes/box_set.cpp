#include "data/boxes/box_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::data {
namespace {

// Cameras put previews of some ten thousand bytes in front of a picture's size.
constexpr size_t kHeaderBytes = size_t{1} << 18U;
constexpr int64_t kTestEvery = 5;

class BoxSet final : public Dataset {
 public:
  BoxSet(DatasetInfo info, std::vector<BoxedPicture> pictures, std::vector<std::string> problems)
      : Dataset(std::move(info)), pictures_(std::move(pictures)), problems_(std::move(problems)) {}

  int64_t size() const override { return static_cast<int64_t>(pictures_.size()); }
  TargetKind target_kind() const override { return TargetKind::kBoxes; }
  void target(int64_t index, Target& target) const override { target.boxes = at(index).boxes; }
  std::string sample_name(int64_t index) const override { return at(index).path; }
  std::span<const std::string> problems() const override { return problems_; }

  PixelView pixels(int64_t index, Pixels& room) const override {
    const BoxedPicture& picture = at(index);
    const Image image = read_image(picture.path);
    // Boxes were checked against the size that the annotations say.
    TY_REQUIRE(picture.size == PictureSize{} ||
                   (picture.size.height == image.height && picture.size.width == image.width),
               "{}: the picture is {} wide and {} high, its annotation says {} and {}",
               picture.path, image.width, image.height, picture.size.width, picture.size.height);
    to_planes(image, room);
    return room.view();
  }

 private:
  const BoxedPicture& at(int64_t index) const { return pictures_[static_cast<size_t>(index)]; }

  std::vector<BoxedPicture> pictures_;
  std::vector<std::string> problems_;
};

// Why it cannot be used; empty: it can.
std::string_view fault_of(const RawBox& box, double width, double height) {
  for (const double at : {box.left, box.top, box.right, box.bottom}) {
    if (!std::isfinite(at)) return "is not finite";
  }
  if (box.left > box.right || box.top > box.bottom) return "is turned around";
  if (box.left == box.right || box.top == box.bottom) return "is empty";
  if (width > 0 && (box.right <= 0 || box.bottom <= 0 || box.left >= width || box.top >= height)) {
    return "is outside of the picture";
  }
  return "";
}

Box clamped(const RawBox& box, double width, double height) {
  const auto inside = [](double at, double side) {
    return static_cast<float>(side > 0 ? std::clamp(at, 0.0, side) : at);
  };
  return {.left = inside(box.left, width),
          .top = inside(box.top, height),
          .right = inside(box.right, width),
          .bottom = inside(box.bottom, height),
          .label = box.label,
          .difficult = box.difficult};
}

}  // namespace

void BoxSetMaker::add(std::string path, PictureSize size, const std::vector<RawBox>& boxes) {
  TY_REQUIRE(boxes.size() <= kMostBoxesInPicture, "{} has {} boxes, at most {} are possible", path,
             boxes.size(), kMostBoxesInPicture);
  if (size == PictureSize{}) size = picture_size_of(path);
  const auto width = static_cast<double>(size.width);
  const auto height = static_cast<double>(size.height);
  BoxedPicture picture{.path = std::move(path), .size = size, .boxes = {}};
  for (const RawBox& box : boxes) {
    const auto note = [&](std::string_view problem, std::string_view done) {
      problems_.push_back(fmt::format(
          "{}: the box {:g} {:g} {:g} {:g} {}{}; {}", box.where, box.left, box.top, box.right,
          box.bottom, problem,
          size.width > 0 ? fmt::format(" ({} x {})", size.width, size.height) : "", done));
    };
    const std::string_view fault = fault_of(box, width, height);
    const Box cut = clamped(box, width, height);
    // A box of less than float's precision may vanish when it is cut.
    if (!fault.empty() || cut.width() <= 0 || cut.height() <= 0) {
      note(fault.empty() ? "is empty" : fault, "left out");
      continue;
    }
    // Half a pixel is a rounding, not a fault.
    constexpr double kSlack = 0.5;
    if (width > 0 && (box.left < -kSlack || box.top < -kSlack || box.right > width + kSlack ||
                      box.bottom > height + kSlack)) {
      note("reaches outside of the picture", "cut off");
    }
    picture.boxes.push_back(cut);
  }
  pictures_.push_back(std::move(picture));
}

std::unique_ptr<Dataset> BoxSetMaker::finish(std::vector<std::string> class_names,
                                             std::string source) {
  TY_REQUIRE(!pictures_.empty(), "{}: there are no pictures in it", source);
  PictureSize common = pictures_[0].size;
  for (const BoxedPicture& picture : pictures_) {
    if (picture.size != common) common = {};
  }
  return std::make_unique<BoxSet>(DatasetInfo{.shape = {kColors, common.height, common.width},
                                              .class_names = std::move(class_names),
                                              .source = std::move(source)},
                                  std::move(pictures_), std::move(problems_));
}

PictureSize picture_size_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kHeaderBytes, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return picture_size(bytes);
}

bool belongs_to(int64_t index, Split split) {
  return (index % kTestEvery == kTestEvery - 1) == (split == Split::kTest);
}

std::filesystem::path split_file(const std::filesystem::path& train, Split split) {
  if (split == Split::kTrain) return train;
  const std::string name = train.filename().string();
  const size_t at = name.find("train");
  if (at == std::string::npos) return {};
  for (const char* other : {"test", "val", "validation"}) {
    std::string wanted = name;
    wanted.replace(at, std::string_view("train").size(), other);
    std::filesystem::path path = train.parent_path() / wanted;
    if (std::filesystem::exists(path)) return path;
  }
  return {};
}

int64_t class_index(const std::vector<std::string>& names, const std::string& name,
                    std::string_view where) {
  const auto found = std::find(names.begin(), names.end(), name);
  TY_REQUIRE(found != names.end(), "{}: there is no class '{}' among {}{}.{}", where, name,
             join(std::span(names).first(std::min<size_t>(names.size(), 20)), ", "),
             names.size() > 20 ? ", …" : "", did_you_mean(name, names));
  return found - names.begin();
}

}  // namespace trainyard::data
