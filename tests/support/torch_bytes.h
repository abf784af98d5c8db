// Files as torch.save writes them, byte by byte.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "runs/crc32c.h"

namespace trainyard::torch_bytes {

template <typename T>
std::string little(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string text(const std::string& words) {
  return "X" + little(static_cast<uint32_t>(words.size())) + words;
}

inline std::string number(int value) {
  return "J" + little(value);
}

inline std::string tuple(const std::vector<int>& values) {
  std::string bytes = "(";
  for (const int value : values) bytes += number(value);
  return bytes + "t";
}

// A call that rebuilds a tensor on storage `key` of `elements` floats.
inline std::string tensor(const std::string& key, int elements, int offset,
                          const std::vector<int>& shape, const std::vector<int>& strides,
                          const std::string& storage = "FloatStorage") {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "ctorch\n" + storage + "\n" +
         text(key) + text("cpu") + number(elements) + "tQ" + number(offset) + tuple(shape) +
         tuple(strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

using Members = std::vector<std::pair<std::string, std::string>>;

inline std::string dict(const Members& members) {
  std::string bytes = "}(";
  for (const auto& [key, value] : members) bytes += text(key) + value;
  return bytes + "u";
}

inline std::string pickle(const std::string& body) {
  return "\x80\x02" + body + ".";
}

// Records that are stored as they are; `method` is what the directory says of them.
inline std::string zip(const Members& records, uint16_t method = 0) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, content] : records) {
    const auto size = static_cast<uint32_t>(content.size());
    const std::string common = little<uint16_t>(0) + little(method) + little<uint32_t>(0) +
                               little(runs::crc32(content)) + little(size) + little(size) +
                               little(static_cast<uint16_t>(name.size())) + little<uint16_t>(0);
    directory += "PK\1\2" + little<uint16_t>(0) + little<uint16_t>(0) + common +
                 little<uint16_t>(0) + little<uint16_t>(0) + little<uint16_t>(0) +
                 little<uint32_t>(0) + little(static_cast<uint32_t>(bytes.size())) + name;
    bytes += "PK\3\4" + little<uint16_t>(0) + common + name + content;
  }
  const auto count = static_cast<uint16_t>(records.size());
  const auto begin = static_cast<uint32_t>(bytes.size());
  return bytes + directory + "PK\5\6" + little<uint32_t>(0) + little(count) + little(count) +
         little(static_cast<uint32_t>(directory.size())) + little(begin) + little<uint16_t>(0);
}

inline std::string zip_file(const std::string& body, const Members& storages) {
  Members records = {{"archive/data.pkl", pickle(body)}};
  for (const auto& [key, data] : storages) records.emplace_back("archive/data/" + key, data);
  return zip(records);
}

// The format before PyTorch 1.6: four pickles, then each storage with its count.
inline std::string legacy_file(const std::string& body, const Members& storages) {
  std::string bytes = pickle("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19") +
                      pickle(number(1001)) + pickle(dict({{"little_endian", "\x88"}})) +
                      pickle(body);
  std::string keys = "](";
  for (const auto& [key, data] : storages) keys += text(key);
  bytes += pickle(keys + "e");
  for (const auto& [key, data] : storages) {
    bytes += little(static_cast<int64_t>(data.size() / sizeof(float))) + data;
  }
  return bytes;
}

inline std::string floats(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += little(value);
  return bytes;
}

}  // namespace trainyard::torch_bytes
