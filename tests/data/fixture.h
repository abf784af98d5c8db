// Tiny data sets that tests write themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::data {

// A fresh, empty folder.
std::filesystem::path scratch_folder(const std::string& name);

// An IDX file: magic number, dimensions, bytes.
std::string idx_bytes(const std::vector<int64_t>& dims, const std::vector<uint8_t>& values);
std::string gzip_bytes(std::string_view content);

// Four IDX files: `count` pictures of 2x3 for training and one for testing, labels i % 10, pixel p
// of picture i is 10 * i + p.
std::filesystem::path write_idx_folder(const std::string& name, int64_t count);

}  // namespace trainyard::data
