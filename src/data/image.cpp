#include "data/image.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "data/image_codecs.h"
#include "data/resample.h"

namespace trainyard::data {

namespace {

struct PictureFormat {
  std::string_view begins;  // every file of it
  PictureSize (*size)(std::string_view bytes);
  Image (*decode)(std::string_view bytes, std::string_view origin);
};
constexpr PictureFormat kFormats[] = {{"\xff\xd8\xff", jpeg_size, decode_jpeg},
                                      {"\x89PNG", png_size, decode_png},
                                      {"GIF8", gif_size, decode_gif},
                                      {"BM", bmp_size, decode_bmp}};

}  // namespace

// 0 x 0 for other formats. Reads headers only, so it is fit for untrusted bytes before decoding.
PictureSize picture_size(std::string_view bytes) {
  for (const PictureFormat& format : kFormats) {
    if (bytes.starts_with(format.begins)) return format.size(bytes);
  }
  return {};
}

// By content, not by name: files with a wrong ending are common in data sets.
Image decode_image(std::string_view bytes, std::string_view origin) {
  for (const PictureFormat& format : kFormats) {
    if (bytes.starts_with(format.begins)) return format.decode(bytes, origin);
  }
  throw_error("{}: no picture in JPEG, PNG, BMP or GIF", origin);
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(read_file(path), path.string());
}

// Gray pictures become three equal channels.
Image to_image(const PixelView& picture) {
  Image image{.height = picture.shape.height, .width = picture.shape.width, .pixels = {}};
  image.pixels.reserve(static_cast<size_t>(3 * picture.shape.plane()));
  for (int64_t i = 0; i < picture.shape.plane(); ++i) {
    for (int64_t c = 0; c < 3; ++c) {
      const int64_t channel = picture.shape.channels == 3 ? c : 0;
      image.pixels.push_back(picture.row(channel, 0)[i]);
    }
  }
  return image;
}

void to_planes(const Image& image, Pixels& out) {
  out.reshape({kColors, image.height, image.width});
  const int64_t plane = out.shape.plane();
  for (int64_t c = 0; c < kColors; ++c) {
    const uint8_t* from = image.pixels.data() + c;
    uint8_t* to = out.row(c, 0);
    for (int64_t i = 0; i < plane; ++i) to[i] = from[i * kColors];
  }
}

Image resize(const Image& image, int64_t height, int64_t width, bool plain) {
  TY_REQUIRE(height > 0 && width > 0, "cannot resize a picture to {} x {}", height, width);
  Image out{.height = height, .width = width, .pixels = {}};
  out.pixels.resize(static_cast<size_t>(height * width * kColors));
  resample({.data = image.pixels.data(),
            .height = image.height,
            .width = image.width,
            .stride = image.width * kColors,
            .channels = kColors},
           height, width, out.pixels.data(), plain);
  return out;
}

Image center_crop(const Image& image, int64_t height, int64_t width) {
  TY_REQUIRE(0 < height && height <= image.height && 0 < width && width <= image.width,
             "cannot cut {} x {} out of a picture of {} x {}", height, width, image.height,
             image.width);
  const int64_t top = (image.height - height) / 2;
  const int64_t left = (image.width - width) / 2;
  Image out{.height = height, .width = width, .pixels = {}};
  for (int64_t y = 0; y < height; ++y) {
    const auto begin = image.pixels.begin() + ((top + y) * image.width + left) * kColors;
    out.pixels.insert(out.pixels.end(), begin, begin + width * kColors);
  }
  return out;
}

namespace {

// The middle of the picture after its shorter side is resized.
Image middle(const Image& image, int64_t height, int64_t width, int64_t resize_shorter) {
  // The share of the picture that evaluation on ImageNet has used since AlexNet.
  constexpr double kResizeShare = 256.0 / 224.0;
  const int64_t least = std::max(height, width);
  const int64_t shorter =
      resize_shorter > 0
          ? resize_shorter
          : static_cast<int64_t>(std::lround(static_cast<double>(least) * kResizeShare));
  TY_REQUIRE(shorter >= least,
             "the shorter side is resized to {}, which is less than the input's {}", shorter,
             least);
  const double scale =
      static_cast<double>(shorter) / static_cast<double>(std::min(image.height, image.width));
  // At least `shorter`, as rounding could fall short of it by one.
  const auto scaled = [&](int64_t side) {
    return std::max<int64_t>(shorter, std::lround(static_cast<double>(side) * scale));
  };
  return center_crop(resize(image, scaled(image.height), scaled(image.width)), height, width);
}

}  // namespace

Tensor preprocess(const Image& image, int64_t channels, int64_t height, int64_t width,
                  const Preprocessing& options) {
  TY_REQUIRE(channels == 1 || channels == kColors,
             "a picture fills 1 or 3 channels, the input has {}", channels);
  const Image cut = options.whole ? resize(image, height, width)
                                  : middle(image, height, width, options.resize_shorter);
  Tensor tensor(DType::kF32, Shape{1, channels, height, width});
  float* out = tensor.values<float>().data();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < height * width; ++i) {
      const uint8_t* pixel = cut.pixels.data() + i * kColors;
      // Weights of ITU-R BT.601, as most decoders use them.
      const float value = channels == kColors
                              ? pixel[c]
                              : 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
      *out++ = (value / 255.0F - options.mean[c]) / options.std[c];
    }
  }
  return tensor;
}

}  // namespace trainyard::data
