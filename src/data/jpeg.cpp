// JPEG by libjpeg-turbo.
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>
// After jpeglib.h, which it needs.
#include <jerror.h>

#include "base/error.h"
#include "data/image_codecs.h"

namespace trainyard::data {
namespace {

// libjpeg reports errors by a call that must not return.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf escape;
  char message[JMSG_LENGTH_MAX];
  bool damaged;
};

void on_error(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->escape, 1);
}

void on_message(j_common_ptr /*info*/) {}

// libjpeg goes on with grey where data is missing, and only warns.
void on_warning(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level >= 0 || (code != JWRN_JPEG_EOF && code != JWRN_HIT_MARKER)) return;
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  if (!manager->damaged) info->err->format_message(info, manager->message);
  manager->damaged = true;
}

// Everything with a destructor lives in the caller: longjmp skips destructors of this frame.
bool decode(std::string_view bytes, Image& image, ErrorManager& errors,
            std::vector<JSAMPLE*>& rows) {
  jpeg_decompress_struct info;
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.output_message = on_message;
  errors.base.emit_message = on_warning;
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
  if (!decode(bytes, image, errors, rows) || errors.damaged) {
    throw_error("{}: the JPEG cannot be read: {}", origin, errors.message);
  }
  TY_REQUIRE(!image.pixels.empty(), "{}: a picture of {} x {} is too large", origin, image.height,
             image.width);
  return image;
}

}  // namespace trainyard::data
