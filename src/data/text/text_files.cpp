#include "data/text/text_files.h"

#include <algorithm>

#include "base/error.h"
#include "base/json_reader.h"
#include "data/text/unicode.h"
#include "data/unpack.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

enum class Form : uint8_t { kNone, kPlain, kLines };

// Told by the name, without the extension of compression.
Form form_of(fs::path path) {
  if (is_packed_name(path)) path = path.stem();
  const std::string extension = path.extension().string();
  if (extension == ".jsonl" || extension == ".ndjson") return Form::kLines;
  for (const char* plain : {"", ".txt", ".text", ".md", ".rst"}) {
    if (extension == plain) return Form::kPlain;
  }
  return Form::kNone;
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && !name.starts_with(".")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The member "text" of an object; the others are not looked at.
std::string text_of_line(std::string_view line, const std::string& origin) {
  JsonReader reader(line, origin);
  std::string text;
  bool found = false;
  std::string key;
  reader.enter_object();
  while (reader.next_key(key)) {
    if (key == "text") {
      text = reader.text();
      found = true;
    } else {
      reader.skip();
    }
  }
  reader.finish();
  TY_REQUIRE(found, "{}: the object has no member 'text'", origin);
  return text;
}

}  // namespace

void require_text(std::string_view text, std::string_view origin) {
  TY_REQUIRE(!text.empty(), "{}: the file is empty, expected text", origin);
  const size_t zero = text.find('\0');
  const size_t broken = first_broken_byte(text);
  TY_REQUIRE(zero == std::string_view::npos || zero > broken,
             "{}: byte {} is zero, so it is no text; expected UTF-8", origin, zero);
  TY_REQUIRE(broken == text.size(),
             "{}: byte {} (0x{:02x}) is not UTF-8; if it is text in another encoding, iconv "
             "converts it",
             origin, broken, static_cast<unsigned char>(text[broken]));
}

TextFiles::TextFiles(const fs::path& place) : TextFiles(std::span(&place, 1)) {}

TextFiles::TextFiles(std::span<const fs::path> places) {
  for (const fs::path& place : places) add_place(place);
}

void TextFiles::add_place(const fs::path& place) {
  if (!fs::is_directory(place)) {
    TY_REQUIRE(fs::exists(place), "{}: there is no such file or folder", place.string());
    add_file(place);
    return;
  }
  const size_t before = files_.size();
  for (const fs::path& path : files_below(place)) {
    if (form_of(path) == Form::kNone) {
      ++left_out_;
    } else {
      add_file(path);
    }
  }
  TY_REQUIRE(files_.size() > before,
             "{}: found no text file in it (.txt, .md, .jsonl, .txt.gz and the like)",
             place.string());
}

std::string_view TextFiles::content_of(const fs::path& path) {
  if (is_packed_name(path)) {
    texts_.push_back(read_unpacked(path));
    return texts_.back();
  }
  // Nothing can be mapped of an empty file.
  TY_REQUIRE(fs::is_regular_file(path), "{}: not a regular file, expected text", path.string());
  TY_REQUIRE(fs::file_size(path) > 0, "{}: the file is empty, expected text", path.string());
  mapped_.push_back(std::make_unique<MappedFile>(path));
  const std::span<const std::byte> bytes = mapped_.back()->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void TextFiles::add_file(const fs::path& path) {
  const std::string_view content = content_of(path);
  require_text(content, path.string());
  const size_t first = documents_.size();
  if (form_of(path) == Form::kLines) {
    add_lines(content, path);
  } else {
    documents_.push_back(content);
  }
  files_.push_back({path, first, documents_.size() - first});
}

void TextFiles::add_lines(std::string_view content, const fs::path& path) {
  for (int64_t number = 1; !content.empty(); ++number) {
    const size_t end = std::min(content.find('\n'), content.size());
    const std::string_view line = content.substr(0, end);
    content.remove_prefix(std::min(end + 1, content.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    texts_.push_back(text_of_line(line, fmt::format("{}, line {}", path.string(), number)));
    if (!texts_.back().empty()) documents_.push_back(texts_.back());
  }
}

int64_t TextFiles::bytes() const {
  int64_t sum = 0;
  for (const std::string_view document : documents_) sum += static_cast<int64_t>(document.size());
  return sum;
}

}  // namespace trainyard::data
