#include "data/image.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "data/image_codecs.h"

namespace trainyard::data {
namespace {

constexpr int64_t kChannels = 3;

// How one output position is made of input positions along one axis.
struct Taps {
  int64_t first = 0;
  std::vector<float> weights;
};

// A triangle as wide as the scale when shrinking, of width one when growing.
std::vector<Taps> resize_taps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(1.0, scale);
  std::vector<Taps> all;
  for (int64_t i = 0; i < to; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - radius)));
    const auto last = std::min(from, static_cast<int64_t>(std::ceil(center + radius)));
    Taps taps{.first = first, .weights = {}};
    double sum = 0;
    for (int64_t j = first; j < last; ++j) {
      const double distance = std::fabs(static_cast<double>(j) + 0.5 - center) / radius;
      const double weight = std::max(0.0, 1.0 - distance);
      taps.weights.push_back(static_cast<float>(weight));
      sum += weight;
    }
    for (float& weight : taps.weights) weight = static_cast<float>(weight / sum);
    all.push_back(std::move(taps));
  }
  return all;
}

}  // namespace

Image decode_image(std::string_view bytes, std::string_view origin) {
  if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, origin);
  if (bytes.starts_with("\x89PNG")) return decode_png(bytes, origin);
  throw_error("{}: neither a JPEG nor a PNG picture", origin);
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(read_file(path), path.string());
}

Image resize(const Image& image, int64_t height, int64_t width) {
  TY_REQUIRE(height > 0 && width > 0, "cannot resize a picture to {} x {}", height, width);
  const std::vector<Taps> columns = resize_taps(image.width, width);
  const std::vector<Taps> rows = resize_taps(image.height, height);
  std::vector<float> narrowed(static_cast<size_t>(image.height * width * kChannels));
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      const Taps& taps = columns[static_cast<size_t>(x)];
      for (int64_t c = 0; c < kChannels; ++c) {
        float sum = 0;
        for (size_t t = 0; t < taps.weights.size(); ++t) {
          const int64_t from = taps.first + static_cast<int64_t>(t);
          sum += taps.weights[t] *
                 image.pixels[static_cast<size_t>((y * image.width + from) * kChannels + c)];
        }
        narrowed[static_cast<size_t>((y * width + x) * kChannels + c)] = sum;
      }
    }
  }
  Image out{.height = height, .width = width, .pixels = {}};
  out.pixels.resize(static_cast<size_t>(height * width * kChannels));
  for (int64_t y = 0; y < height; ++y) {
    const Taps& taps = rows[static_cast<size_t>(y)];
    for (int64_t i = 0; i < width * kChannels; ++i) {
      float sum = 0;
      for (size_t t = 0; t < taps.weights.size(); ++t) {
        const int64_t from = taps.first + static_cast<int64_t>(t);
        sum += taps.weights[t] * narrowed[static_cast<size_t>(from * width * kChannels + i)];
      }
      out.pixels[static_cast<size_t>(y * width * kChannels + i)] =
          static_cast<uint8_t>(std::clamp(std::lround(sum), 0L, 255L));
    }
  }
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
    const auto begin = image.pixels.begin() + ((top + y) * image.width + left) * kChannels;
    out.pixels.insert(out.pixels.end(), begin, begin + width * kChannels);
  }
  return out;
}

Tensor preprocess(const Image& image, int64_t channels, int64_t height, int64_t width,
                  const Preprocessing& options) {
  TY_REQUIRE(channels == 1 || channels == kChannels,
             "a picture fills 1 or 3 channels, the input has {}", channels);
  // The share of the picture that evaluation on ImageNet has used since AlexNet.
  constexpr double kResizeShare = 256.0 / 224.0;
  const int64_t least = std::max(height, width);
  const int64_t shorter =
      options.resize_shorter > 0
          ? options.resize_shorter
          : static_cast<int64_t>(std::lround(static_cast<double>(least) * kResizeShare));
  TY_REQUIRE(shorter >= least,
             "the shorter side is resized to {}, which is less than the input's {}", shorter,
             least);
  const double scale =
      static_cast<double>(shorter) / static_cast<double>(std::min(image.height, image.width));
  const auto scaled = [&](int64_t side) {
    return std::max<int64_t>(shorter, std::lround(static_cast<double>(side) * scale));
  };
  const Image cut =
      center_crop(resize(image, scaled(image.height), scaled(image.width)), height, width);
  Tensor tensor(DType::kF32, Shape{1, channels, height, width});
  float* out = tensor.values<float>().data();
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t i = 0; i < height * width; ++i) {
      const uint8_t* pixel = cut.pixels.data() + i * kChannels;
      const float value = channels == kChannels
                              ? pixel[c]
                              : 0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2];
      *out++ = (value / 255.0F - options.mean[c]) / options.std[c];
    }
  }
  return tensor;
}

}  // namespace trainyard::data
