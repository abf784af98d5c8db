#include "models/onnx/external_data.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::onnx_io {
namespace {

namespace fs = std::filesystem;

fs::path safe_path(const fs::path& folder, const std::string& location) {
  TY_REQUIRE(!location.empty() && location.find('\0') == std::string::npos,
             "its external data has no file name");
  TY_REQUIRE(!folder.empty(), "its external data '{}' cannot be found without a folder", location);
  const fs::path relative(location);
  TY_REQUIRE(relative.is_relative(), "its external data is at the absolute path '{}'", location);
  TY_REQUIRE(std::find(relative.begin(), relative.end(), "..") == relative.end(),
             "its external data '{}' leaves the model's folder", location);
  std::error_code problem;
  const fs::path home = fs::canonical(folder, problem);
  TY_REQUIRE(!problem, "folder '{}' cannot be opened: {}", folder.string(), problem.message());
  fs::path path = fs::canonical(home / relative, problem);
  TY_REQUIRE(!problem, "its external data '{}' cannot be opened: {}", location, problem.message());
  const fs::path inside = path.lexically_relative(home);
  TY_REQUIRE(!inside.empty() && *inside.begin() != "..",
             "its external data '{}' is a link that leaves the model's folder", location);
  TY_REQUIRE(fs::is_regular_file(path, problem), "its external data '{}' is not a regular file",
             location);
  return path;
}

}  // namespace

ExternalFiles::Content ExternalFiles::open(const std::string& location) {
  constexpr int64_t kLargest = int64_t{1} << 40U;
  const std::scoped_lock lock(mutex_);
  if (form_ == Form::kHeld) {
    auto found = held_.find(location);
    if (found == held_.end()) {
      std::string content = read_file(safe_path(folder_, location), kLargest);
      found = held_.emplace(location, std::move(content)).first;
    }
    return {std::as_bytes(std::span(found->second)), nullptr};
  }
  std::shared_ptr<MappedFile>& file = mapped_[location];
  if (!file) file = std::make_shared<MappedFile>(safe_path(folder_, location));
  return {file->bytes(), file};
}

}  // namespace trainyard::onnx_io
