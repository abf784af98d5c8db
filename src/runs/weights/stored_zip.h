// The records of a zip file that are stored as they are, which is how PyTorch writes them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace trainyard::runs {

class StoredZip {
 public:
  // Throws Error with the byte for a directory that is broken.
  StoredZip(std::span<const std::byte> bytes, std::string origin);

  struct Record {
    int64_t header = 0;  // of its local header, from the start of the file
    int64_t size = 0;
    uint32_t checksum = 0;
    bool stored = true;  // neither compressed nor encrypted
  };
  const std::map<std::string, Record, std::less<>>& records() const { return records_; }

  struct Content {
    std::span<const std::byte> bytes;
    int64_t begin = 0;  // in the file
  };
  // Throws Error if there is no such record, if it is compressed or encrypted (so nothing is ever
  // larger than the file), or its bytes are not those that were written.
  Content read(std::string_view name) const;

 private:
  template <typename T>
  T number(int64_t at, std::string_view what) const;
  int64_t find_directory_end() const;
  int64_t read_entry(int64_t at);

  std::span<const std::byte> bytes_;
  std::string origin_;
  std::map<std::string, Record, std::less<>> records_;
};

}  // namespace trainyard::runs
