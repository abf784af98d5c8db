#include "runs/weights/stored_zip.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "runs/crc32c.h"

namespace trainyard::runs {
namespace {

constexpr uint32_t kEntrySignature = 0x02014b50;
constexpr uint32_t kLocalSignature = 0x04034b50;
constexpr uint32_t kEndSignature = 0x06054b50;
constexpr int64_t kEntryBytes = 46;
constexpr int64_t kLocalBytes = 30;
constexpr int64_t kEndBytes = 22;
constexpr int64_t kLongestComment = 0xffff;
constexpr uint32_t kInZip64 = 0xffffffff;

}  // namespace

template <typename T>
T StoredZip::number(int64_t at, std::string_view what) const {
  TY_REQUIRE(at >= 0 && at + static_cast<int64_t>(sizeof(T)) <= static_cast<int64_t>(bytes_.size()),
             "{}: byte {}: {} lies outside the file; it is cut short", origin_, at, what);
  T value;
  std::memcpy(&value, bytes_.data() + at, sizeof value);
  return value;
}

int64_t StoredZip::find_directory_end() const {
  const auto size = static_cast<int64_t>(bytes_.size());
  const int64_t first = std::max<int64_t>(0, size - kEndBytes - kLongestComment);
  for (int64_t at = size - kEndBytes; at >= first; --at) {
    if (number<uint32_t>(at, "the directory") == kEndSignature) return at;
  }
  throw_error("{}: a zip file without a directory at its end; it is cut short", origin_);
}

StoredZip::StoredZip(std::span<const std::byte> bytes, std::string origin)
    : bytes_(bytes), origin_(std::move(origin)) {
  const int64_t end = find_directory_end();
  const auto count = number<uint16_t>(end + 10, "the directory");
  const auto begin = number<uint32_t>(end + 16, "the directory");
  TY_REQUIRE(count != 0xffff && begin != kInZip64,
             "{}: a zip file beyond 4 GiB or 65,534 records, which is not read", origin_);
  int64_t at = begin;
  for (int i = 0; i < count; ++i) at = read_entry(at);
}

int64_t StoredZip::read_entry(int64_t at) {
  constexpr std::string_view kWhat = "an entry of the directory";
  TY_REQUIRE(number<uint32_t>(at, kWhat) == kEntrySignature,
             "{}: byte {}: expected an entry of the zip directory", origin_, at);
  const auto flags = number<uint16_t>(at + 8, kWhat);
  const auto method = number<uint16_t>(at + 10, kWhat);
  const auto packed = number<uint32_t>(at + 20, kWhat);
  const auto size = number<uint32_t>(at + 24, kWhat);
  const auto name_bytes = number<uint16_t>(at + 28, kWhat);
  const auto extra_bytes = number<uint16_t>(at + 30, kWhat);
  const auto comment_bytes = number<uint16_t>(at + 32, kWhat);
  const auto header = number<uint32_t>(at + 42, kWhat);
  const int64_t name_at = at + kEntryBytes;
  const int64_t next = name_at + name_bytes + extra_bytes + comment_bytes;
  TY_REQUIRE(next <= static_cast<int64_t>(bytes_.size()),
             "{}: byte {}: an entry of the zip directory ends outside the file", origin_, at);
  const std::string name(reinterpret_cast<const char*>(bytes_.data()) + name_at, name_bytes);
  TY_REQUIRE(size != kInZip64 && header != kInZip64,
             "{}: record '{}' is of 4 GiB or more, which is not read", origin_, name);
  const Record record = {header, size, number<uint32_t>(at + 16, kWhat),
                         method == 0 && packed == size && (flags & 1U) == 0};
  TY_REQUIRE(records_.emplace(name, record).second, "{}: two records are named '{}'", origin_,
             name);
  return next;
}

StoredZip::Content StoredZip::read(std::string_view name) const {
  const auto found = records_.find(name);
  TY_REQUIRE(found != records_.end(), "{}: no record '{}' in this zip file", origin_, name);
  const Record& record = found->second;
  TY_REQUIRE(record.stored,
             "{}: record '{}' is compressed or encrypted; PyTorch stores its records as they are, "
             "so this file was packed by something else: unpack it first",
             origin_, name);
  constexpr std::string_view kWhat = "the header of a record";
  TY_REQUIRE(number<uint32_t>(record.header, kWhat) == kLocalSignature,
             "{}: byte {}: expected the header of record '{}'", origin_, record.header, name);
  const int64_t begin = record.header + kLocalBytes + number<uint16_t>(record.header + 26, kWhat) +
                        number<uint16_t>(record.header + 28, kWhat);
  TY_REQUIRE(begin + record.size <= static_cast<int64_t>(bytes_.size()),
             "{}: byte {}: record '{}' of {} bytes ends outside the file; it is cut short", origin_,
             begin, name, record.size);
  const auto content = bytes_.subspan(static_cast<size_t>(begin), static_cast<size_t>(record.size));
  const uint32_t sum = crc32({reinterpret_cast<const char*>(content.data()), content.size()});
  TY_REQUIRE(sum == record.checksum,
             "{}: byte {}: record '{}' is damaged: its checksum is {:08x}, expected {:08x}; fetch "
             "the file again",
             origin_, begin, name, sum, record.checksum);
  return {content, begin};
}

}  // namespace trainyard::runs
