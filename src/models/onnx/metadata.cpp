#include "models/onnx/metadata.h"

#include <onnx/onnx_pb.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace trainyard::onnx_io {

Metadata read_metadata(const std::filesystem::path& path) {
  const MappedFile file(path);
  return read_metadata(file.bytes(), path.string());
}

Metadata read_metadata(Bytes file, std::string_view origin) {
  constexpr uint32_t kMetadataField = 14;  // of ModelProto
  Metadata metadata;
  WireReader reader(file);
  while (!reader.done()) {
    const WireField field = reader.next();
    if (field.number != kMetadataField || field.type != WireType::kBytes) continue;
    onnx::StringStringEntryProto entry;
    TY_REQUIRE(entry.ParseFromArray(field.content.data(), static_cast<int>(field.content.size())),
               "{}: damaged metadata", origin);
    metadata[entry.key()] = entry.value();
  }
  return metadata;
}

std::vector<std::string> class_names(const Metadata& metadata) {
  const auto found = metadata.find(kClassesKey);
  if (found == metadata.end()) return {};
  std::vector<std::string> names = split(found->second, '\n');
  if (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

}  // namespace trainyard::onnx_io
