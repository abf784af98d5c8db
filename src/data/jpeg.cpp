// JPEG by libjpeg-turbo.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include "base/error.h"
#include "data/image_codecs.h"

namespace trainyard::data {
namespace {

// libjpeg reports errors by a call that must not return.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
};

void on_error(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->escape, 1);
}

void on_message(j_common_ptr /*info*/) {}

// Everything with a destructor lives in the caller: longjmp skips destructors of this frame.
bool decode(std::string_view bytes, Image& image, ErrorManager& errors,
            std::vector<JSAMPLE*>& rows) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.output_message = on_message;
  jpeg_create_decompress(&info);
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  image.height = info.output_height;
  image.width = info.output_width;
  if (image.height * image.width <= kMostPixels) {
    image.pixels.resize(static_cast<size_t>(image.height * image.width * 3));
    for (int64_t y = 0; y < image.height; ++y) {
      rows.push_back(image.pixels.data() + y * image.width * 3);
    }
    while (info.output_scanline < info.output_height) {
      jpeg_read_scanlines(&info, rows.data() + info.output_scanline,
                          info.output_height - info.output_scanline);
    }
    jpeg_finish_decompress(&info);
  }
  jpeg_destroy_decompress(&info);
  return true;
}

}  // namespace

Image decode_jpeg(std::string_view bytes, std::string_view origin) {
  Image image;
  ErrorManager errors{};
  std::vector<JSAMPLE*> rows;
  if (!decode(bytes, image, errors, rows)) {
    throw_error("{}: the JPEG cannot be read: {}", origin, errors.message);
  }
  TY_REQUIRE(!image.pixels.empty(), "{}: a picture of {} x {} is too large", origin, image.height,
             image.width);
  return image;
}

}  // namespace trainyard::data
