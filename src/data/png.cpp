// PNG by libpng's simplified interface.
#include <png.h>

#include "base/error.h"
#include "data/image_codecs.h"

namespace trainyard::data {

Image decode_png(std::string_view bytes, std::string_view origin) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&info, bytes.data(), bytes.size()) == 0) {
    throw_error("{}: the PNG cannot be read: {}", origin, info.message);
  }
  Image image{.height = info.height, .width = info.width, .pixels = {}};
  if (image.height * image.width > kMostPixels) {
    png_image_free(&info);
    throw_error("{}: a picture of {} x {} is too large", origin, image.height, image.width);
  }
  // Otherwise numbers of 16 bits would be taken for linear light, and come out brighter than those
  // of 8 bits.
  info.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  info.format = PNG_FORMAT_RGB;
  image.pixels.resize(PNG_IMAGE_SIZE(info));
  const png_color white = {255, 255, 255};
  if (png_image_finish_read(&info, &white, image.pixels.data(), 0, nullptr) == 0) {
    throw_error("{}: the PNG cannot be read: {}", origin, info.message);
  }
  return image;
}

PictureSize png_size(std::string_view bytes) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&info, bytes.data(), bytes.size()) == 0) return {};
  const PictureSize size = {info.height, info.width};
  png_image_free(&info);
  return size;
}

std::string encode_png(const Image& image) {
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  info.format = PNG_FORMAT_RGB;
  info.height = static_cast<png_uint_32>(image.height);
  info.width = static_cast<png_uint_32>(image.width);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(info);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&info, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr) ==
      0) {
    throw_failure("a PNG of {} x {} cannot be written: {}", image.height, image.width,
                  info.message);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace trainyard::data
