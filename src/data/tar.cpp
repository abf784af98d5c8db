#include "data/tar.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <zlib.h>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBlock = 512;
constexpr size_t kReadBuffer = size_t{1} << 20;
constexpr int64_t kMostNameBytes = int64_t{64} << 10;
constexpr int64_t kMostMembers = 20'000'000;
constexpr std::string_view kNoHeader = "this is no tar archive, or a header is damaged";

// zlib reads files that are not compressed as they are.
class TarStream {
 public:
  explicit TarStream(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    TY_REQUIRE(file_ != nullptr, "{} cannot be read", path.string());
    gzbuffer(file_, kReadBuffer);
  }
  ~TarStream() { gzclose(file_); }
  TarStream(const TarStream&) = delete;
  TarStream& operator=(const TarStream&) = delete;

  // False at the end, if there is nothing more.
  bool read(char* data, size_t bytes) {
    size_t got = 0;
    while (got < bytes) {
      const int now =
          gzread(file_, data + got, static_cast<unsigned>(std::min(bytes - got, kReadBuffer)));
      if (now < 0) fail("the gzip data is damaged");
      if (now == 0) break;
      got += static_cast<size_t>(now);
    }
    if (got == 0) {
      int state = Z_OK;
      gzerror(file_, &state);
      if (state != Z_OK) fail("the archive is cut short");
      return false;
    }
    if (got < bytes) fail("the archive is cut short");
    return true;
  }
  void require(char* data, size_t bytes) {
    if (!read(data, bytes)) fail("the archive is cut short");
  }
  [[noreturn]] void fail(std::string_view problem) const {
    throw_error("{}: {}", path_.string(), problem);
  }

 private:
  fs::path path_;
  gzFile file_;
};

std::string_view field(const std::array<char, kBlock>& header, size_t at, size_t size) {
  const std::string_view whole(header.data() + at, size);
  return whole.substr(0, std::min(whole.find('\0'), size));
}

// Octal digits between spaces; sizes beyond 8 GiB as binary with the first bit set.
int64_t number(const TarStream& stream, const std::array<char, kBlock>& header, size_t at,
               size_t size) {
  uint64_t value = 0;
  if ((static_cast<unsigned char>(header[at]) & 0x80U) != 0) {
    for (size_t i = size - 8; i < size; ++i) {
      value = value << 8 | static_cast<unsigned char>(header[at + i]);
    }
  } else {
    for (const char digit : field(header, at, size)) {
      if (digit == ' ') continue;
      if (digit < '0' || digit > '7') stream.fail(kNoHeader);
      value = value * 8 + static_cast<uint64_t>(digit - '0');
    }
  }
  if (value > static_cast<uint64_t>(INT64_MAX / 2)) stream.fail("a header has an impossible size");
  return static_cast<int64_t>(value);
}

// The sum of a header's bytes, its own field counted as spaces.
bool sum_holds(const TarStream& stream, const std::array<char, kBlock>& header) {
  constexpr size_t kSumAt = 148;
  constexpr size_t kSumBytes = 8;
  int64_t sum = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    const bool own = kSumAt <= i && i < kSumAt + kSumBytes;
    sum += own ? ' ' : static_cast<unsigned char>(header[i]);
  }
  return sum == number(stream, header, kSumAt, kSumBytes);
}

size_t padded(int64_t bytes) {
  return (static_cast<size_t>(bytes) + kBlock - 1) / kBlock * kBlock;
}

std::string content_of(TarStream& stream, int64_t bytes) {
  if (bytes > kMostNameBytes) stream.fail("a name is too long");
  std::string text(padded(bytes), '\0');
  stream.require(text.data(), text.size());
  text.resize(static_cast<size_t>(bytes));
  return text;
}

// "27 path=folder/name\n" of an extended header; empty: no path in it.
std::string path_of(std::string_view records) {
  constexpr std::string_view kKey = " path=";
  const size_t at = records.find(kKey);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = records.substr(at + kKey.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

fs::path safe_name(const TarStream& stream, const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  const bool out =
      path.is_absolute() ||
      std::any_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
  if (out) stream.fail("a member is called '" + name + "', which leads out of the folder");
  return path;
}

void write_member(TarStream& stream, const fs::path& path, int64_t bytes, std::vector<char>& room) {
  fs::create_directories(path.parent_path());
  AtomicFile out(path);
  size_t left = static_cast<size_t>(bytes);
  size_t packed = padded(bytes);
  while (packed > 0) {
    const size_t now = std::min(packed, room.size());
    stream.require(room.data(), now);
    out.write(room.data(), std::min(left, now));
    left -= std::min(left, now);
    packed -= now;
  }
  out.commit();
}

bool is_tar_name(const fs::path& path) {
  return path.extension() == ".tar" || path.string().ends_with(".tar.gz");
}

}  // namespace

Unpacked unpack_tar(const fs::path& archive, const fs::path& folder) {
  TarStream stream(archive);
  Unpacked unpacked;
  std::array<char, kBlock> header{};
  std::vector<char> room(kReadBuffer / kBlock * kBlock);
  std::string next_name;
  for (int64_t member = 0; stream.read(header.data(), kBlock); ++member) {
    if (std::all_of(header.begin(), header.end(), [](char byte) { return byte == 0; })) break;
    if (member > kMostMembers) stream.fail("there are too many members");
    if (!sum_holds(stream, header)) stream.fail(kNoHeader);
    const int64_t bytes = number(stream, header, 124, 12);
    const char kind = header[156];
    if (kind == 'L' || kind == 'x') {
      const std::string content = content_of(stream, bytes);
      const std::string name =
          kind == 'L' ? content.substr(0, content.find('\0')) : path_of(content);
      if (!name.empty()) next_name = name;
      continue;
    }
    if (kind == 'g') {
      content_of(stream, bytes);
      continue;
    }
    const std::string prefix(field(header, 345, 155));
    // GNU's own headers say "ustar " and have times where others have the prefix.
    const bool has_prefix = field(header, 257, 6) == "ustar" && !prefix.empty();
    std::string name = (has_prefix ? prefix + "/" : "") + std::string(field(header, 0, 100));
    if (!next_name.empty()) name = std::exchange(next_name, "");
    const fs::path path = folder / safe_name(stream, name);
    // Old writers mark folders by the slash alone.
    if (kind == '5' || (name.ends_with('/') && bytes == 0)) {
      fs::create_directories(path);
      continue;
    }
    if (kind != '0' && kind != '\0') {
      stream.fail("'" + name + "' is a link or a device, which are not unpacked");
    }
    if (!path.has_filename() || path.filename() == ".") {
      stream.fail("a member is called '" + name + "', which is no name of a file");
    }
    write_member(stream, path, bytes, room);
    ++unpacked.files;
    unpacked.bytes += bytes;
    if (is_tar_name(path)) unpacked.archives.push_back(path);
  }
  if (unpacked.files == 0) stream.fail("the archive has no files");
  return unpacked;
}

}  // namespace trainyard::data
