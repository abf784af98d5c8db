#include "program/kept_predictions.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "runs/growing_file.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

// Networks are a few hundred kilobytes each.
constexpr size_t kMostNetworks = 64;

using Marks = std::vector<std::pair<fs::path, runs::FileMark>>;

// A file that has changed in size or time is another.
Marks marks_of(std::span<const std::string> files) {
  std::vector<fs::path> paths(files.begin(), files.end());
  std::error_code absent;
  for (const auto& entry : fs::directory_iterator(predict::user_catalog_folder(), absent)) {
    if (entry.path().extension() == ".yaml") paths.push_back(entry.path());
  }
  Marks marks;
  for (const fs::path& path : paths) marks.emplace_back(path, runs::mark_of(path));
  return marks;
}

}  // namespace

std::shared_ptr<const predict::Catalog> kept_catalog(std::span<const std::string> files) {
  static std::mutex mutex;
  static std::shared_ptr<const predict::Catalog> kept;
  static Marks kept_marks;
  const std::lock_guard lock(mutex);
  Marks marks = marks_of(files);
  if (kept == nullptr || marks != kept_marks) {
    kept = std::make_shared<const predict::Catalog>(predict::Catalog::load(files));
    kept_marks = std::move(marks);
  }
  return kept;
}

std::shared_ptr<const predict::Network> kept_network(const ModelArgument& model) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const predict::Network>> kept;
  const auto made = [&] {
    predict::Networks networks([&](const std::string& name) { return model.load(name); });
    return std::make_shared<const predict::Network>(networks.get(model.text()));
  };
  if (!model.is_bare_name()) return made();
  const std::lock_guard lock(mutex);
  if (const auto found = kept.find(model.text()); found != kept.end()) return found->second;
  auto network = made();
  if (kept.size() >= kMostNetworks) kept.clear();
  kept.emplace(model.text(), network);
  return network;
}

}  // namespace trainyard::cli
