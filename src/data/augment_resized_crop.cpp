// resized_crop:HxW[:AREA]: a random piece of at least AREA of the picture, stretched to HxW.
#include <algorithm>
#include <cmath>

#include "data/augment_step.h"
#include "data/numbers.h"
#include "data/resample.h"

namespace trainyard::data {
namespace {

constexpr double kDefaultArea = 0.08;  // as in the training of Inception
constexpr double kWidest = 4.0 / 3.0;  // ratio of the sides, either way
constexpr uint64_t kTries = 10;
constexpr uint64_t kDrawsPerTry = 4;

struct Piece {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
};

int64_t place(double where, int64_t room) {
  return static_cast<int64_t>(where * static_cast<double>(room + 1));
}

class ResizedCrop final : public Step {
 public:
  ResizedCrop(Size size, double least_area) : size_(size), least_area_(least_area) {}

  PictureShape output(const PictureShape& in) const override {
    return {in.channels, size_.height, size_.width};
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    const Piece piece = draw(in.shape, random);
    out.reshape(output(in.shape));
    resample({.data = in.row(0, piece.top) + piece.left,
              .height = piece.height,
              .width = piece.width,
              .stride = in.shape.width,
              .planes = in.shape.channels,
              .plane_stride = in.shape.plane()},
             size_.height, size_.width, out.bytes.data());
    return out.view();
  }

  void apply_to_boxes(std::vector<Box>& boxes, const PictureShape& in,
                      const RandomStream& random) const override {
    const Piece piece = draw(in, random);
    move_boxes(boxes,
               {.left = static_cast<double>(piece.left),
                .top = static_cast<double>(piece.top),
                .scale_x = static_cast<double>(size_.width) / static_cast<double>(piece.width),
                .scale_y = static_cast<double>(size_.height) / static_cast<double>(piece.height)},
               output(in));
  }

  std::string text() const override {
    std::string text = fmt::format("resized_crop:{}x{}", size_.height, size_.width);
    if (least_area_ != kDefaultArea) text += fmt::format(":{}", least_area_);
    return text;
  }

  // The middle 7/8 of the picture, as evaluation on ImageNet has done since AlexNet.
  std::string evaluation_text() const override {
    const int64_t shorter = (std::max(size_.height, size_.width) * 8 + 3) / 7;
    return fmt::format("resize:{},center:{}x{}", shorter, size_.height, size_.width);
  }

 private:
  // Area and ratio are drawn until the piece fits; at last the largest middle piece is taken.
  Piece draw(const PictureShape& in, const RandomStream& random) const {
    for (uint64_t t = 0; t < kTries * kDrawsPerTry; t += kDrawsPerTry) {
      const double share = least_area_ + (1 - least_area_) * random.uniform(t);
      const double area = share * static_cast<double>(in.plane());
      const double ratio = std::exp((2 * random.uniform(t + 1) - 1) * std::log(kWidest));
      const auto width = std::lround(std::sqrt(area * ratio));
      const auto height = std::lround(std::sqrt(area / ratio));
      if (width < 1 || height < 1 || width > in.width || height > in.height) continue;
      return {place(random.uniform(t + 2), in.height - height),
              place(random.uniform(t + 3), in.width - width), height, width};
    }
    const auto longest = [](int64_t other) {
      return std::max<int64_t>(1, std::lround(static_cast<double>(other) * kWidest));
    };
    const int64_t height = std::min(in.height, longest(in.width));
    const int64_t width = std::min(in.width, longest(in.height));
    return {(in.height - height) / 2, (in.width - width) / 2, height, width};
  }

  Size size_;
  double least_area_;
};

std::unique_ptr<const Step> make_resized_crop(const StepArguments& arguments) {
  const size_t colon = arguments.text.find(':');
  const double area = colon == std::string_view::npos
                          ? kDefaultArea
                          : parse_real(arguments.text.substr(colon + 1), 0, 1, arguments.what);
  return std::make_unique<ResizedCrop>(parse_size(arguments.text.substr(0, colon), arguments.what),
                                       area);
}

}  // namespace

extern const StepDef kResizedCrop = {"resized_crop", "resized_crop:HxW[:LEAST_AREA]",
                                     make_resized_crop};

}  // namespace trainyard::data
