// cutout:L[xN][:RRGGBB]: N squares of side L, anywhere and cut off at the border, in the color that
// normalization makes zero (black if nothing is normalized), or in the one that is said, so that
// they can be seen where the picture is black too.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

constexpr int64_t kMostSquares = 1000;

class Cutout final : public Step {
 public:
  Cutout(int64_t length, int64_t count, std::vector<uint8_t> fill, std::string_view color)
      : length_(length), count_(count), fill_(std::move(fill)), color_(color) {}

  PictureShape output(const PictureShape& in) const override { return in; }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    out.reshape(in.shape);
    std::memcpy(out.bytes.data(), in.data, out.bytes.size());
    for (int64_t i = 0; i < count_; ++i) {
      const auto index = static_cast<uint64_t>(2 * i);
      const auto [top, bottom] = span(random, index, in.shape.height);
      const auto [left, right] = span(random, index + 1, in.shape.width);
      for (int64_t c = 0; c < in.shape.channels; ++c) {
        for (int64_t y = top; y < bottom; ++y) {
          std::memset(out.row(c, y) + left, fill(c), static_cast<size_t>(right - left));
        }
      }
    }
    return out.view();
  }

  std::string text() const override {
    return fmt::format("cutout:{}x{}{}{}", length_, count_, color_.empty() ? "" : ":", color_);
  }
  std::string evaluation_text() const override { return ""; }

 private:
  struct Span {
    int64_t begin;
    int64_t end;
  };

  // The middle of the square is anywhere in the picture.
  Span span(const RandomStream& random, uint64_t index, int64_t side) const {
    const auto middle = static_cast<int64_t>(random.below(index, static_cast<uint64_t>(side)));
    const int64_t begin = middle - length_ / 2;
    return {std::max<int64_t>(0, begin), std::min(side, begin + length_)};
  }
  uint8_t fill(int64_t channel) const {
    if (fill_.empty()) return 0;
    return fill_[std::min(fill_.size() - 1, static_cast<size_t>(channel))];
  }

  int64_t length_;
  int64_t count_;
  std::vector<uint8_t> fill_;
  std::string color_;  // as it was said; empty: that of zero
};

// RRGGBB
std::vector<uint8_t> parse_color(std::string_view text, const std::string& what) {
  constexpr size_t kDigits = 6;
  TY_REQUIRE(text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == text.npos,
             "{}: '{}' is no color such as ff00ff", what, text);
  std::vector<uint8_t> color;
  for (size_t i = 0; i < kDigits; i += 2) {
    uint8_t value = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    color.push_back(value);
  }
  return color;
}

std::unique_ptr<const Step> make_cutout(const StepArguments& arguments) {
  const size_t colon = std::min(arguments.text.find(':'), arguments.text.size());
  const std::string_view squares = arguments.text.substr(0, colon);
  const std::string_view color = arguments.text.substr(std::min(colon + 1, arguments.text.size()));
  const size_t by = squares.find('x');
  const int64_t count = by == std::string_view::npos
                            ? 1
                            : parse_whole(squares.substr(by + 1), 1, kMostSquares, arguments.what);
  return std::make_unique<Cutout>(
      parse_whole(squares.substr(0, by), 1, kLargestSide, arguments.what), count,
      colon == arguments.text.size() ? arguments.fill : parse_color(color, arguments.what), color);
}

}  // namespace

extern const StepDef kCutout = {"cutout", "cutout:LENGTH[xCOUNT][:RRGGBB]", make_cutout};

}  // namespace trainyard::data
