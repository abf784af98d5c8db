#include "runs/checkpoint.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kKind = "trainyard checkpoint 1";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kFilePrefix = "step-";
constexpr std::string_view kValuePrefix = "value.";
// So many differences show which model it is; a list of hundreds does not.
constexpr size_t kShownDifferences = 5;

std::map<std::string, std::string> to_metadata(const CheckpointInfo& info) {
  std::map<std::string, std::string> metadata = {
      {"kind", std::string(kKind)},
      {"model", info.model},
      {"config_hash", info.config_hash},
      {"epoch", fmt::format("{}", info.epoch)},
      {"epoch_step", fmt::format("{}", info.epoch_step)},
      {"step", fmt::format("{}", info.step)},
      {"samples", fmt::format("{}", info.samples)},
      {"seed", fmt::format("{}", info.seed)},
  };
  for (const auto& [name, value] : info.values) {
    metadata.emplace(fmt::format("{}{}", kValuePrefix, name), fmt::format("{}", value));
  }
  metadata.insert(info.notes.begin(), info.notes.end());
  return metadata;
}

template <typename Number>
Number number_of(const std::string& text, std::string_view key, const fs::path& path) {
  const auto number = parse_number<Number>(text);
  TY_REQUIRE(number, "{}: '{}' of the checkpoint is '{}', expected a number", path.string(), key,
             text);
  return *number;
}

CheckpointInfo from_metadata(const SafetensorsFile& file) {
  const auto text = [&](const std::string& key) -> const std::string& {
    const auto found = file.metadata().find(key);
    TY_REQUIRE(found != file.metadata().end(),
               "{}: no checkpoint of a run: a safetensors file without '{}' in its metadata; plain "
               "weights can begin a run, not resume one",
               file.path().string(), key);
    return found->second;
  };
  TY_REQUIRE(text("kind") == kKind, "{}: of kind '{}', expected '{}'", file.path().string(),
             text("kind"), kKind);
  const auto count = [&](const std::string& key) {
    const auto value = number_of<int64_t>(text(key), key, file.path());
    TY_REQUIRE(value >= 0, "{}: '{}' of the checkpoint is {}, expected at least 0",
               file.path().string(), key, value);
    return value;
  };
  CheckpointInfo info = {
      .model = text("model"),
      .config_hash = text("config_hash"),
      .epoch = count("epoch"),
      .epoch_step = count("epoch_step"),
      .step = count("step"),
      .samples = count("samples"),
      .seed = number_of<uint64_t>(text("seed"), "seed", file.path()),
      .values = {},
  };
  for (const auto& [key, value] : file.metadata()) {
    if (key.starts_with(kNotePrefix)) info.notes.emplace(key, value);
    if (!key.starts_with(kValuePrefix)) continue;
    info.values[key.substr(kValuePrefix.size())] = number_of<double>(value, key, file.path());
  }
  return info;
}

fs::path file_name(int64_t step) {
  return fmt::format("{}{:06}{}", kFilePrefix, step, kSuffix);
}

// The step of a checkpoint by its name; nothing for other files.
std::optional<int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kFilePrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  const size_t frame = kFilePrefix.size() + kSuffix.size();
  if (name.size() < frame) return std::nullopt;
  return parse_number<int64_t>(
      std::string_view(name).substr(kFilePrefix.size(), name.size() - frame));
}

// What AtomicFile and point_link leave when the process is killed.
bool is_unfinished(const std::string& name) {
  const size_t suffix = name.find(std::string(kSuffix) + ".");
  return suffix != std::string::npos &&
         (step_of(name.substr(0, suffix + kSuffix.size())) || name.ends_with(".new"));
}

// Readers see the old target or the new one.
void point_link(const fs::path& link, const fs::path& target) {
  const fs::path unfinished = link.string() + ".new";
  std::error_code problem;
  fs::remove(unfinished, problem);
  fs::create_symlink(target, unfinished, problem);
  if (!problem) fs::rename(unfinished, link, problem);
  if (problem) throw_failure("{}: cannot be written: {}", link.string(), problem.message());
}

}  // namespace

Checkpoint::Checkpoint(const fs::path& path) : file_(path), info_(from_metadata(file_)) {}

void Checkpoint::require_fits(std::string_view model, std::string_view config_hash,
                              std::span<const NamedType> state) const {
  const std::string where = file_.path().string();
  const std::vector<std::string> differences = tensor_differences(file_, state);
  if (!differences.empty() || info_.model != model) {
    const size_t shown = std::min(kShownDifferences, differences.size());
    std::string list;
    for (size_t i = 0; i < shown; ++i) list += "\n  " + differences[i];
    if (shown < differences.size()) {
      list += fmt::format("\n  and {} more", differences.size() - shown);
    }
    throw_error("{}: a checkpoint of model '{}', which does not fit '{}'{}", where, info_.model,
                model, list);
  }
  TY_REQUIRE(config_hash.empty() || info_.config_hash == config_hash,
             "{}: saved by a run with other settings; resume with the settings in its config.yaml",
             where);
}

std::vector<std::string> tensor_differences(const SafetensorsFile& file,
                                            std::span<const NamedType> expected) {
  std::vector<std::string> differences;
  std::set<std::string_view> names;
  for (const NamedType& tensor : expected) {
    names.insert(tensor.name);
    const StoredTensor* stored = file.find(tensor.name);
    if (stored == nullptr) {
      differences.push_back(
          fmt::format("'{}' {} is missing", tensor.name, tensor.type.to_string()));
    } else if (stored->type != tensor.type) {
      differences.push_back(fmt::format("'{}' is {}, expected {}", tensor.name,
                                        stored->type.to_string(), tensor.type.to_string()));
    }
  }
  for (const StoredTensor& stored : file.tensors()) {
    if (names.contains(stored.name)) continue;
    differences.push_back(
        fmt::format("'{}' {} is not expected", stored.name, stored.type.to_string()));
  }
  return differences;
}

CheckpointFolder::CheckpointFolder(fs::path folder, int64_t keep_last)
    : folder_(std::move(folder)), keep_last_(keep_last) {
  TY_REQUIRE(keep_last_ >= 1, "at least 1 checkpoint must be kept, found {}", keep_last_);
  std::error_code problem;
  fs::create_directories(folder_, problem);
  std::vector<fs::path> unfinished;
  for (fs::directory_iterator at(folder_, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (is_unfinished(at->path().filename().string())) unfinished.push_back(at->path());
  }
  for (const fs::path& path : unfinished) {
    if (!problem) fs::remove(path, problem);
  }
  if (problem) throw_failure("{}: cannot be written: {}", folder_.string(), problem.message());
}

fs::path CheckpointFolder::save(const CheckpointInfo& info, std::span<const StateTensor> state,
                                bool best) {
  const fs::path name = file_name(info.step);
  std::vector<NamedType> types;
  std::vector<uint32_t> checksums;
  for (const StateTensor& tensor : state) {
    types.push_back({tensor.name, tensor.type});
    checksums.push_back(checksum_of(tensor.read()));
  }
  SafetensorsWriter writer(folder_ / name, std::move(types), to_metadata(info), checksums);
  for (const StateTensor& tensor : state) writer.write(tensor.read());
  writer.commit();
  if (best) point_link(folder_ / "best.safetensors", name);
  point_link(folder_ / "latest.safetensors", name);
  remove_old(info.step);
  return folder_ / name;
}

std::optional<fs::path> CheckpointFolder::linked(std::string_view link) const {
  std::error_code problem;
  const fs::file_status status = fs::symlink_status(folder_ / link, problem);
  if (!fs::exists(status)) return std::nullopt;
  // A copy of a run may have a file in place of the link; whatever else it is, its reader refuses.
  if (!fs::is_symlink(status)) return folder_ / link;
  return folder_ / fs::read_symlink(folder_ / link, problem);
}

void CheckpointFolder::remove_old(int64_t newest_step) const {
  std::vector<int64_t> steps;
  std::error_code problem;
  for (fs::directory_iterator at(folder_, problem), end; !problem && at != end;
       at.increment(problem)) {
    const std::optional<int64_t> step = step_of(at->path().filename().string());
    // Later ones belong to a run that was resumed from before them; it writes them anew.
    if (step && *step <= newest_step) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  const std::optional<fs::path> best_file = best();
  for (size_t i = static_cast<size_t>(keep_last_); i < steps.size(); ++i) {
    const fs::path file = folder_ / file_name(steps[i]);
    // One that stays behind costs space, no more.
    if (file != best_file) fs::remove(file, problem);
  }
}

}  // namespace trainyard::runs
