// Tensors by name in a safetensors file: written one at a time, read through a mapping.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace trainyard::runs {

struct StoredTensor {
  std::string name;
  TensorType type;
  int64_t begin = 0;  // of its data, counted from the start of the file
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in the order of their data
};

// The largest header that is read or written; hundreds of thousands of tensors fit.
constexpr int64_t kMaxHeaderBytes = 100'000'000;
// The header's length comes first, as 8 bytes.
constexpr int64_t kHeaderBegin = 8;

// `text` is the header alone and `file_bytes` the size of the whole file. Throws Error with
// `origin` and the byte for malformed text, an unknown element type, a name that appears twice and
// data that overlap, leave a gap or lie outside the file.
SafetensorsHeader parse_safetensors_header(std::string_view text, int64_t file_bytes,
                                           std::string_view origin);

// "F32", "I64", "BOOL", …
std::string_view safetensors_dtype(DType dtype);

// A number that changes with nearly every change of the tensor's bytes.
uint32_t checksum_of(const Tensor& tensor);

struct NamedType {
  std::string name;
  TensorType type;
};

// Writes under a temporary name until commit(). Needs no memory beyond the header.
class SafetensorsWriter {
 public:
  // `checksums` are those of the tensors, in the same order, or empty: then nobody can tell a
  // flipped bit from a weight. Throws Error for a name that appears twice, Failure if the file
  // cannot be written.
  SafetensorsWriter(const std::filesystem::path& path, std::vector<NamedType> tensors,
                    std::map<std::string, std::string> metadata,
                    std::span<const uint32_t> checksums = {});

  // The next tensor of the list.
  void write(const Tensor& tensor);
  // All tensors must have been written. The bytes are on the disk when this returns.
  void commit();

 private:
  AtomicFile file_;
  std::vector<NamedType> tensors_;
  size_t next_ = 0;
};

// A file that was checked when it was opened.
class SafetensorsFile {
 public:
  // Throws Error with file and byte if it is not a whole safetensors file.
  explicit SafetensorsFile(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  // In the order of their data.
  std::span<const StoredTensor> tensors() const { return header_.tensors; }
  // Null pointer if there is none of this name.
  const StoredTensor* find(std::string_view name) const;
  // Shares the mapping, which it keeps alive, and must not be written: clone() first. Throws Error
  // if there is none, with the nearest names, for a bool that is neither 0 nor 1, and for bytes
  // that are not those that were written, where the file has check sums.
  Tensor tensor(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<const MappedFile> mapping_;
  SafetensorsHeader header_;
  std::vector<uint32_t> checksums_;  // of the tensors; empty: the file has none
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace trainyard::runs
