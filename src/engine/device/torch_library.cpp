#include "engine/device/torch_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

namespace trainyard::device {
namespace {

constexpr const char* kFileName = "libtrainyard_torch.so";

// TRAINYARD_TORCH alone, if it is set: who names a file does not want another.
std::vector<std::filesystem::path> candidates() {
  if (const char* named = std::getenv("TRAINYARD_TORCH")) return {named};
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path folder = program.parent_path();
  return {folder / kFileName, folder.parent_path() / "lib" / "trainyard" / kFileName};
}

struct Loaded {
  const TorchInterface* functions = nullptr;
  std::string missing;
};

Loaded open_library(const std::filesystem::path& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return {nullptr, fmt::format("it cannot be opened: {}", dlerror())};
  using Entry = const TorchInterface* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(handle, TRAINYARD_TORCH_ENTRY));
  if (entry == nullptr) return {nullptr, fmt::format("{} is no plugin of ours", path.string())};
  const TorchInterface* functions = entry();
  if (functions->version != kTorchInterface) {
    return {nullptr, fmt::format("{} speaks version {} of the interface, this program {}; build "
                                 "both from the same sources",
                                 path.string(), functions->version, int{kTorchInterface})};
  }
  return {functions, ""};
}

Loaded load() {
  for (const std::filesystem::path& path : candidates()) {
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) return open_library(path);
    if (std::getenv("TRAINYARD_TORCH") != nullptr) {
      return {nullptr, fmt::format("TRAINYARD_TORCH names {}, which is not there", path.string())};
    }
  }
  return {nullptr,
          fmt::format("there is no {} beside the program; docs/gpu.md says how to build it",
                      kFileName)};
}

const Loaded& loaded() {
  static const Loaded kLoaded = load();
  return kLoaded;
}

}  // namespace

const TorchInterface* torch_library() {
  return loaded().functions;
}

std::string torch_library_missing() {
  return loaded().missing;
}

}  // namespace trainyard::device
