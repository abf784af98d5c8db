#include "runs/safetensors.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "runs/crc32c.h"

namespace trainyard::runs {

// The format is little-endian, and tensors are mapped and written as they are.
static_assert(std::endian::native == std::endian::little);

namespace {

// Data begin at a multiple of this, as tensors in memory do.
constexpr size_t kDataAlignment = Tensor::kAlignment;

std::string quoted(const std::string& text) {
  return Json(text).dump(-1);
}

// CRC-32C of the bytes of each tensor in the order of their data, eight digits each.
constexpr const char* kChecksumsKey = "crc32c";
constexpr size_t kDigits = 8;

std::string checksums_text(std::span<const uint32_t> checksums) {
  std::string text;
  for (const uint32_t checksum : checksums) text += fmt::format("{:08x}", checksum);
  return text;
}

std::vector<uint32_t> parse_checksums(const std::string& text, size_t tensors,
                                      const std::string& origin) {
  TY_REQUIRE(text.size() == tensors * kDigits &&
                 text.find_first_not_of("0123456789abcdef") == std::string::npos,
             "{}: the check sums of its {} tensors are damaged", origin, tensors);
  std::vector<uint32_t> checksums(tensors);
  for (size_t i = 0; i < tensors; ++i) {
    const char* const digits = text.data() + i * kDigits;
    std::from_chars(digits, digits + kDigits, checksums[i], 16);
  }
  return checksums;
}

uint32_t checksum_of_bytes(const void* data, size_t bytes) {
  return crc32c({static_cast<const char*>(data), bytes});
}

std::string header_text(std::span<const NamedType> tensors,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> members;
  if (!metadata.empty()) {
    std::vector<std::string> pairs;
    for (const auto& [key, value] : metadata) pairs.push_back(quoted(key) + ":" + quoted(value));
    members.push_back("\"__metadata__\":{" + join(pairs, ",") + "}");
  }
  // Offsets count from the end of the header, and tensors follow each other without gaps, which
  // readers check (safetensors format).
  int64_t begin = 0;
  for (const NamedType& tensor : tensors) {
    const int64_t end = begin + tensor.type.num_bytes();
    members.push_back(fmt::format("{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                                  quoted(tensor.name), safetensors_dtype(tensor.type.dtype),
                                  Json::array_of(tensor.type.shape.dims()).dump(-1), begin, end));
    begin = end;
  }
  std::string text = "{" + join(members, ",") + "}";
  const size_t used = static_cast<size_t>(kHeaderBegin) + text.size();
  // The format allows trailing spaces in the header for this purpose.
  text.append((kDataAlignment - used % kDataAlignment) % kDataAlignment, ' ');
  return text;
}

}  // namespace

uint32_t checksum_of(const Tensor& tensor) {
  return checksum_of_bytes(tensor.data(), static_cast<size_t>(tensor.num_bytes()));
}

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::vector<NamedType> tensors,
                                     std::map<std::string, std::string> metadata,
                                     std::span<const uint32_t> checksums)
    : file_(path), tensors_(std::move(tensors)) {
  TY_CHECK(checksums.empty() || checksums.size() == tensors_.size(), "{} check sums of {} tensors",
           checksums.size(), tensors_.size());
  if (!checksums.empty()) metadata[kChecksumsKey] = checksums_text(checksums);
  std::set<std::string_view> names = {"__metadata__"};
  for (const NamedType& tensor : tensors_) {
    TY_REQUIRE(names.insert(tensor.name).second,
               "{}: two tensors are named '{}'; safetensors needs distinct names", path.string(),
               tensor.name);
  }
  // The whole header is written first, as it holds the offsets; that is why types are announced.
  const std::string header = header_text(tensors_, metadata);
  const uint64_t length = header.size();
  TY_REQUIRE(static_cast<int64_t>(length) <= kMaxHeaderBytes,
             "{}: the names of {} tensors need {} bytes, more than a safetensors file may have",
             path.string(), tensors_.size(), length);
  file_.write(&length, sizeof length);
  file_.write(header);
}

void SafetensorsWriter::write(const Tensor& tensor) {
  TY_CHECK(next_ < tensors_.size(), "only {} tensors were announced", tensors_.size());
  const NamedType& expected = tensors_[next_++];
  TY_CHECK(tensor.type() == expected.type, "'{}' was announced as {} and is {}", expected.name,
           expected.type.to_string(), tensor.type().to_string());
  file_.write(tensor.data(), static_cast<size_t>(tensor.num_bytes()));
}

void SafetensorsWriter::commit() {
  TY_CHECK(next_ == tensors_.size(), "{} of {} tensors were written", next_, tensors_.size());
  // Data before name: a crash must not leave a file of the final name with missing bytes.
  file_.sync();
  file_.commit();
}

SafetensorsFile::SafetensorsFile(std::filesystem::path path)
    : path_(std::move(path)), mapping_(std::make_shared<MappedFile>(path_)) {
  const auto bytes = mapping_->bytes();
  const auto size = static_cast<int64_t>(bytes.size());
  TY_REQUIRE(size >= kHeaderBegin,
             "{}: byte 0: {} bytes are too few for a safetensors file; it is cut short or of "
             "another kind",
             path_.string(), size);
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  // Compared as unsigned, since a hostile length may exceed the range of int64_t.
  TY_REQUIRE(length <= static_cast<uint64_t>(std::min(size - kHeaderBegin, kMaxHeaderBytes)),
             "{}: byte 0: a header of {} bytes in a file of {}; it is cut short or no safetensors "
             "file",
             path_.string(), length, size);
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + kHeaderBegin;
  header_ = parse_safetensors_header({text, length}, size, path_.string());
  for (size_t i = 0; i < header_.tensors.size(); ++i) index_.emplace(header_.tensors[i].name, i);
  const auto sums = header_.metadata.find(kChecksumsKey);
  if (sums == header_.metadata.end()) return;
  checksums_ = parse_checksums(sums->second, header_.tensors.size(), path_.string());
  header_.metadata.erase(sums);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &header_.tensors[found->second];
}

Tensor SafetensorsFile::tensor(std::string_view name) const {
  const StoredTensor* stored = find(name);
  if (stored == nullptr) {
    std::vector<std::string> names;
    for (const auto& [known, i] : index_) names.push_back(known);
    throw_error("{}: no tensor '{}' among {}.{}", path_.string(), name, names.size(),
                did_you_mean(name, names));
  }
  const auto count = static_cast<size_t>(stored->type.num_bytes());
  const std::byte* data = mapping_->bytes().data() + stored->begin;
  if (!checksums_.empty()) {
    const uint32_t written = checksums_[static_cast<size_t>(stored - header_.tensors.data())];
    const uint32_t found = checksum_of_bytes(data, count);
    TY_REQUIRE(found == written,
               "{}: tensor '{}' is damaged: the check sum of its bytes is {:08x}, that of what was "
               "written {:08x}",
               path_.string(), name, found, written);
  }
  // Any other byte in a bool is undefined behavior in C++, so it is refused here.
  if (stored->type.dtype == DType::kBool) {
    for (size_t i = 0; i < count; ++i) {
      TY_REQUIRE(data[i] <= std::byte{1}, "{}: byte {}: {} in the bool tensor '{}'", path_.string(),
                 static_cast<size_t>(stored->begin) + i, std::to_integer<int>(data[i]), name);
    }
  }
  // The mapping begins at a page, so offsets in the file decide. Files of other writers need not
  // align their tensors.
  const bool aligned = stored->begin % dtype_size(stored->type.dtype) == 0;
  if (aligned && count > 0) {
    return {stored->type, std::const_pointer_cast<MappedFile>(mapping_),
            const_cast<std::byte*>(data)};
  }
  Tensor copy(stored->type);
  std::memcpy(copy.data(), data, count);
  return copy;
}

}  // namespace trainyard::runs
