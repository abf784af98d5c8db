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

// Inks on white paper, as Adobe's programs write them (inverted) or as others do.
void cmyk_to_rgb(bool inverted, int64_t width, const JSAMPLE* from, JSAMPLE* to) {
  for (int64_t x = 0; x < width; ++x) {
    const int black = inverted ? from[4 * x + 3] : 255 - from[4 * x + 3];
    for (int64_t c = 0; c < 3; ++c) {
      const int ink = inverted ? from[4 * x + c] : 255 - from[4 * x + c];
      to[3 * x + c] = static_cast<JSAMPLE>((ink * black + 127) / 255);
    }
  }
}

// A small file may hold a scan after another over a large picture.
void limit_scans(j_common_ptr info) {
  constexpr int kMostScans = 200;
  auto* reader = reinterpret_cast<j_decompress_ptr>(info);
  if (reader->input_scan_number <= kMostScans) return;
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(manager->message, sizeof manager->message, "more than %d scans", kMostScans);
  std::longjmp(manager->escape, 1);
}

void on_message(j_common_ptr /*info*/) {}

// libjpeg goes on with gray where data is missing, and only warns.
void on_warning(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  if (level >= 0 || (code != JWRN_JPEG_EOF && code != JWRN_HIT_MARKER)) return;
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  if (!manager->damaged) info->err->format_message(info, manager->message);
  manager->damaged = true;
}

void set_errors(jpeg_decompress_struct& info, ErrorManager& errors) {
  info.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = on_error;
  errors.base.output_message = on_message;
  errors.base.emit_message = on_warning;
}

// Everything with a destructor lives in the caller: longjmp skips destructors of this frame.
bool decode(std::string_view bytes, Image& image, ErrorManager& errors, std::vector<JSAMPLE>& row) {
  jpeg_decompress_struct info;
  jpeg_progress_mgr progress{};
  progress.progress_monitor = limit_scans;
  set_errors(info, errors);
  jpeg_create_decompress(&info);
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  info.progress = &progress;
  jpeg_read_header(&info, TRUE);
  const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
  info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
  image.height = info.image_height;
  image.width = info.image_width;
  // Before the library takes memory for it.
  if (image.height * image.width <= kMostPixels) {
    jpeg_start_decompress(&info);
    image.pixels.resize(static_cast<size_t>(image.height * image.width * 3));
    row.resize(static_cast<size_t>(image.width) * 4);
    while (info.output_scanline < info.output_height) {
      JSAMPLE* to = image.pixels.data() + int64_t{info.output_scanline} * image.width * 3;
      JSAMPLE* line = inks ? row.data() : to;
      jpeg_read_scanlines(&info, &line, 1);
      if (inks) cmyk_to_rgb(info.saw_Adobe_marker != 0, image.width, line, to);
    }
    jpeg_finish_decompress(&info);
  }
  jpeg_destroy_decompress(&info);
  return true;
}

bool read_size(std::string_view bytes, PictureSize& size, ErrorManager& errors) {
  jpeg_decompress_struct info;
  set_errors(info, errors);
  jpeg_create_decompress(&info);
  if (setjmp(errors.escape) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&info, TRUE);
  size = {info.image_height, info.image_width};
  jpeg_destroy_decompress(&info);
  return true;
}

}  // namespace

Image decode_jpeg(std::string_view bytes, std::string_view origin) {
  Image image;
  ErrorManager errors{};
  std::vector<JSAMPLE> row;
  if (!decode(bytes, image, errors, row) || errors.damaged) {
    throw_error("{}: the JPEG cannot be read: {}", origin, errors.message);
  }
  TY_REQUIRE(!image.pixels.empty(), "{}: a picture of {} x {} is too large", origin, image.height,
             image.width);
  return image;
}

PictureSize jpeg_size(std::string_view bytes) {
  ErrorManager errors{};
  PictureSize size;
  return read_size(bytes, size, errors) ? size : PictureSize{};
}

}  // namespace trainyard::data
