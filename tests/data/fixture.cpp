#include "data/fixture.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "base/file.h"

namespace trainyard::data {

std::filesystem::path scratch_folder(const std::string& name) {
  auto folder = std::filesystem::path(testing::TempDir()) / "trainyard_data_test" / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::string idx_bytes(const std::vector<int64_t>& dims, const std::vector<uint8_t>& values) {
  std::string bytes = {0, 0, 8, static_cast<char>(dims.size())};
  for (const int64_t dim : dims) {
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(dim >> shift));
  }
  bytes.append(values.begin(), values.end());
  return bytes;
}

std::string gzip_bytes(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::filesystem::path write_idx_folder(const std::string& name, int64_t count) {
  auto folder = scratch_folder(name);
  for (const std::string split : {"train", "t10k"}) {
    const int64_t pictures = split == "train" ? count : 1;
    std::vector<uint8_t> pixels;
    std::vector<uint8_t> labels;
    for (int64_t i = 0; i < pictures; ++i) {
      for (int64_t p = 0; p < 6; ++p) pixels.push_back(static_cast<uint8_t>(10 * i + p));
      labels.push_back(static_cast<uint8_t>(i % 10));
    }
    write_file(folder / (split + "-images-idx3-ubyte"), idx_bytes({pictures, 2, 3}, pixels));
    write_file(folder / (split + "-labels-idx1-ubyte"), idx_bytes({pictures}, labels));
  }
  return folder;
}

}  // namespace trainyard::data
