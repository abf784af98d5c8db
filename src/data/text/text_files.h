// Documents of text files: plain, a JSON object on each line, compressed or not.
#pragma once

#include <deque>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace trainyard::data {

// The texts of files, kept in memory or mapped.
class TextFiles {
 public:
  // A file, or every text file in a folder and below, sorted by name: .txt, .text, .md, .rst, those
  // without an extension, and .jsonl and .ndjson, whose lines are objects with a member "text";
  // each may be compressed (.gz). A plain file is one document. Throws Error for a place without a
  // text file, and for a file that is empty or not UTF-8, with the byte.
  explicit TextFiles(const std::filesystem::path& place);
  // Several such places.
  explicit TextFiles(std::span<const std::filesystem::path> places);

  struct File {
    std::filesystem::path path;
    size_t first = 0;  // of its documents
    size_t count = 0;
  };
  const std::vector<File>& files() const { return files_; }
  const std::vector<std::string_view>& documents() const { return documents_; }
  int64_t bytes() const;
  // Files of folders that are not texts, by their names.
  int64_t left_out() const { return left_out_; }

 private:
  void add_place(const std::filesystem::path& place);
  void add_file(const std::filesystem::path& path);
  std::string_view content_of(const std::filesystem::path& path);
  void add_lines(std::string_view content, const std::filesystem::path& path);

  std::vector<std::unique_ptr<MappedFile>> mapped_;
  std::deque<std::string> texts_;
  std::vector<std::string_view> documents_;
  std::vector<File> files_;
  int64_t left_out_ = 0;
};

// Throws Error that names `origin` and the byte for a text that is empty, not UTF-8, or binary.
void require_text(std::string_view text, std::string_view origin);

}  // namespace trainyard::data
