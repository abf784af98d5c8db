// randaugment[:N[/M]]: N (2) of fourteen changes, drawn with repetition, all of strength M (9) of
// 30 (Cubuk et al. 2020; the changes and their ranges are those of torchvision).
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

constexpr double kMostStrength = 30;
constexpr int64_t kMostChanges = 14;

// What a change knows besides the picture.
struct ChangeContext {
  double strength;  // 0 to 1
  double sign;      // 1 or -1
  const std::vector<uint8_t>& fill;

  double up_to(double most) const { return sign * strength * most; }
  uint8_t fill_of(int64_t channel) const {
    if (fill.empty()) return 0;
    return fill[std::min(fill.size() - 1, static_cast<size_t>(channel))];
  }
};

using Table = std::array<uint8_t, 256>;

uint8_t as_byte(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

template <typename F>
Table table_of(const F& f) {
  Table table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = as_byte(f(static_cast<double>(i)));
  return table;
}

void map_plane(const PixelView& in, Pixels& out, int64_t channel, const Table& table) {
  const uint8_t* from = in.row(channel, 0);
  uint8_t* to = out.row(channel, 0);
  for (int64_t i = 0; i < in.shape.plane(); ++i) to[i] = table[from[i]];
}

void map_all(const PixelView& in, Pixels& out, const Table& table) {
  for (int64_t c = 0; c < in.shape.channels; ++c) map_plane(in, out, c, table);
}

double gray_at(const PixelView& in, int64_t i) {
  if (in.shape.channels == 1) return in.data[i];
  const int64_t plane = in.shape.plane();
  return 0.299 * in.data[i] + 0.587 * in.data[plane + i] + 0.114 * in.data[2 * plane + i];
}

// Where the pixel at (x, y) of the result comes from, seen from the middle; nearest neighbor.
struct Affine {
  double xx = 1, xy = 0, x = 0;
  double yx = 0, yy = 1, y = 0;
};

void move_pixels(const PixelView& in, Pixels& out, const ChangeContext& context, const Affine& a) {
  const auto [channels, height, width] = in.shape;
  const double middle_x = (static_cast<double>(width) - 1) / 2;
  const double middle_y = (static_cast<double>(height) - 1) / 2;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const double dx = static_cast<double>(x) - middle_x;
      const double dy = static_cast<double>(y) - middle_y;
      const auto from_x = std::lround(a.xx * dx + a.xy * dy + a.x + middle_x);
      const auto from_y = std::lround(a.yx * dx + a.yy * dy + a.y + middle_y);
      const bool inside = 0 <= from_x && from_x < width && 0 <= from_y && from_y < height;
      for (int64_t c = 0; c < channels; ++c) {
        out.row(c, y)[x] = inside ? in.row(c, from_y)[from_x] : context.fill_of(c);
      }
    }
  }
}

void identity(const PixelView& in, Pixels& out, const ChangeContext& /*context*/) {
  std::memcpy(out.bytes.data(), in.data, out.bytes.size());
}

void shear_x(const PixelView& in, Pixels& out, const ChangeContext& context) {
  move_pixels(in, out, context, {.xy = context.up_to(0.3)});
}
void shear_y(const PixelView& in, Pixels& out, const ChangeContext& context) {
  move_pixels(in, out, context, {.yx = context.up_to(0.3)});
}

constexpr double kMostTranslation = 150.0 / 331.0;  // of the side
void translate_x(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double most = kMostTranslation * static_cast<double>(in.shape.width);
  move_pixels(in, out, context, {.x = context.up_to(most)});
}
void translate_y(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double most = kMostTranslation * static_cast<double>(in.shape.height);
  move_pixels(in, out, context, {.y = context.up_to(most)});
}

void rotate(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double angle = context.up_to(30) * std::numbers::pi / 180;
  const double c = std::cos(angle);
  const double s = std::sin(angle);
  move_pixels(in, out, context, {.xx = c, .xy = s, .yx = -s, .yy = c});
}

void brightness(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double factor = 1 + context.up_to(0.9);
  map_all(in, out, table_of([&](double v) { return factor * v; }));
}

void contrast(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double factor = 1 + context.up_to(0.9);
  double mean = 0;
  for (int64_t i = 0; i < in.shape.plane(); ++i) mean += gray_at(in, i);
  mean /= static_cast<double>(in.shape.plane());
  map_all(in, out, table_of([&](double v) { return mean + factor * (v - mean); }));
}

void color(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double factor = 1 + context.up_to(0.9);
  for (int64_t c = 0; c < in.shape.channels; ++c) {
    const uint8_t* from = in.row(c, 0);
    uint8_t* to = out.row(c, 0);
    for (int64_t i = 0; i < in.shape.plane(); ++i) {
      const double gray = gray_at(in, i);
      to[i] = as_byte(gray + factor * (from[i] - gray));
    }
  }
}

// Away from, or towards, the mean of the nine neighbors in which the middle counts five times.
void sharpness(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double factor = 1 + context.up_to(0.9);
  identity(in, out, context);
  for (int64_t c = 0; c < in.shape.channels; ++c) {
    for (int64_t y = 1; y + 1 < in.shape.height; ++y) {
      for (int64_t x = 1; x + 1 < in.shape.width; ++x) {
        double sum = 4 * in.row(c, y)[x];
        for (int64_t dy = -1; dy <= 1; ++dy) {
          for (int64_t dx = -1; dx <= 1; ++dx) sum += in.row(c, y + dy)[x + dx];
        }
        const double soft = sum / 13;
        out.row(c, y)[x] = as_byte(soft + factor * (in.row(c, y)[x] - soft));
      }
    }
  }
}

void posterize(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const auto lost = static_cast<unsigned>(std::lround(4 * context.strength));
  map_all(in, out, table_of([&](double v) {
            return static_cast<double>((static_cast<unsigned>(v) >> lost) << lost);
          }));
}

void solarize(const PixelView& in, Pixels& out, const ChangeContext& context) {
  const double from = 255 * (1 - context.strength);
  map_all(in, out, table_of([&](double v) { return v >= from ? 255 - v : v; }));
}

void autocontrast(const PixelView& in, Pixels& out, const ChangeContext& /*context*/) {
  for (int64_t c = 0; c < in.shape.channels; ++c) {
    const uint8_t* plane = in.row(c, 0);
    const auto [least, most] = std::minmax_element(plane, plane + in.shape.plane());
    const double low = *least;
    const double scale = *most > *least ? 255.0 / (*most - *least) : 1;
    const double base = *most > *least ? low : 0;
    map_plane(in, out, c, table_of([&](double v) { return scale * (v - base); }));
  }
}

// Every value occurs about equally often.
void equalize(const PixelView& in, Pixels& out, const ChangeContext& /*context*/) {
  for (int64_t c = 0; c < in.shape.channels; ++c) {
    std::array<int64_t, 256> counts{};
    for (int64_t i = 0; i < in.shape.plane(); ++i) ++counts[in.row(c, 0)[i]];
    const auto last = std::find_if(counts.rbegin(), counts.rend(), [](int64_t n) { return n > 0; });
    const int64_t step = (in.shape.plane() - *last) / 255;
    Table table = table_of([](double v) { return v; });
    int64_t sum = step / 2;
    for (size_t v = 0; step > 0 && v < table.size(); ++v) {
      table[v] = static_cast<uint8_t>(std::min<int64_t>(255, sum / step));
      sum += counts[v];
    }
    map_plane(in, out, c, table);
  }
}

using Change = void (*)(const PixelView&, Pixels&, const ChangeContext&);
constexpr Change kChanges[] = {identity,  shear_x,    shear_y,      translate_x, translate_y,
                               rotate,    brightness, color,        contrast,    sharpness,
                               posterize, solarize,   autocontrast, equalize};

class RandAugment final : public Step {
 public:
  RandAugment(int64_t count, int64_t strength, std::vector<uint8_t> fill)
      : count_(count), strength_(strength), fill_(std::move(fill)) {}

  PictureShape output(const PictureShape& in) const override {
    TY_REQUIRE(in.channels == 1 || in.channels == 3,
               "augmentation '{}': pictures of {} have neither 1 nor 3 channels", text(),
               in.to_string());
    return in;
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    const double strength = static_cast<double>(strength_) / kMostStrength;
    PixelView now = in;
    Pixels before;
    for (int64_t i = 0; i < count_; ++i) {
      const auto index = static_cast<uint64_t>(2 * i);
      if (i > 0) {
        std::swap(before, out);
        now = before.view();
      }
      out.reshape(in.shape);
      const ChangeContext context{.strength = strength,
                                  .sign = random.uniform(index + 1) < 0.5 ? 1.0 : -1.0,
                                  .fill = fill_};
      kChanges[random.below(index, std::size(kChanges))](now, out, context);
    }
    return out.view();
  }

  // Boxes would have to be turned with the pixels.
  void apply_to_boxes(std::vector<Box>& /*boxes*/, const PictureShape& /*in*/,
                      const RandomStream& /*random*/) const override {
    throw_error("augmentation '{}' is for classes, not for boxes", text());
  }

  std::string text() const override { return fmt::format("randaugment:{}/{}", count_, strength_); }
  std::string evaluation_text() const override { return ""; }

 private:
  int64_t count_;
  int64_t strength_;
  std::vector<uint8_t> fill_;
};

std::unique_ptr<const Step> make_randaugment(const StepArguments& arguments) {
  const size_t slash = arguments.text.find('/');
  const int64_t count = arguments.text.empty() ? 2
                                               : parse_whole(arguments.text.substr(0, slash), 1,
                                                             kMostChanges, arguments.what);
  const int64_t strength = slash == std::string_view::npos
                               ? 9
                               : parse_whole(arguments.text.substr(slash + 1), 0,
                                             static_cast<int64_t>(kMostStrength), arguments.what);
  return std::make_unique<RandAugment>(count, strength, arguments.fill);
}

}  // namespace

extern const StepDef kRandAugment = {"randaugment", "randaugment[:COUNT[/STRENGTH]]",
                                     make_randaugment};

}  // namespace trainyard::data
