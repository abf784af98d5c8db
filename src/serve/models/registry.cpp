#include "serve/models/registry.h"

#include <algorithm>
#include <malloc.h>

#include "base/error.h"
#include "base/names_file.h"
#include "base/parse_number.h"
#include "base/text.h"
#include "http/status.h"

namespace trainyard::serve {
namespace {

constexpr std::string_view kModelFile = "model.onnx";

// Positive, and nothing behind the digits.
std::optional<int64_t> version_number(std::string_view text) {
  const auto number = parse_number<int64_t>(text);
  // "01" is no version: its folder would be looked for as "1".
  return number && *number > 0 && text[0] != '0' ? number : std::nullopt;
}

// Folders named by a number, ascending.
std::vector<int64_t> versions_in(const std::filesystem::path& folder) {
  std::vector<int64_t> versions;
  // An unreadable folder has no versions.
  std::error_code problem;
  for (const auto& entry : std::filesystem::directory_iterator(folder, problem)) {
    const auto number = version_number(entry.path().filename().string());
    if (number && entry.is_directory()) versions.push_back(*number);
  }
  std::sort(versions.begin(), versions.end());
  return versions;
}

// Listed versions are taken whether they are there or not, so that a missing one is reported.
std::vector<int64_t> choose(const VersionPolicy& policy, std::vector<int64_t> there) {
  if (!policy.listed.empty()) return policy.listed;
  if (policy.latest > 0 && static_cast<int64_t>(there.size()) > policy.latest) {
    there.erase(there.begin(), there.end() - policy.latest);
  }
  return there;
}

int64_t modified(const std::filesystem::path& path) {
  std::error_code problem;
  const auto time = std::filesystem::last_write_time(path, problem);
  return problem ? 0 : time.time_since_epoch().count();
}

// Some versions of a model could not be loaded, and each says why.
// Apart from other errors, since poll() has these in the index already.
class VersionsFailed : public RequestError {
 public:
  using RequestError::RequestError;
};

void refuse_if_loading(const std::string& name, VersionState state) {
  if (state != VersionState::kLoading) return;
  throw RequestError(Status::kUnavailable, fmt::format("model '{}' is being loaded", name),
                     /*retry_after_s=*/1);
}

// Of the exception being handled; call it in a catch block only.
std::string what_went_wrong() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

std::string_view state_name(VersionState state) {
  constexpr std::string_view kNames[] = {"READY", "UNAVAILABLE", "LOADING", "UNLOADING"};
  return kNames[static_cast<size_t>(state)];
}

Registry::Registry(RegistryOptions options)
    : options_(std::move(options)), gate_(options_.cores), side_(options_.cores) {
  if (options_.cache_bytes > 0) cache_.emplace(options_.cache_bytes);
}

Registry::~Registry() {
  shut_down(std::chrono::milliseconds(0));
}

// Compiles outside of the lock: find() must not wait for it.
void Registry::add(ModelConfig config, NetworkSource source) {
  const std::string name = config.name;
  auto version = std::make_shared<ModelVersion>(std::move(config), 1, std::move(source), shared());
  const std::lock_guard lock(mutex_);
  models_[name][1] = {std::move(version), VersionState::kReady, "", {}};
}

std::shared_ptr<ModelVersion> Registry::find(const std::string& name,
                                             const std::string& version) const {
  const std::lock_guard lock(mutex_);
  const auto model = models_.find(name);
  if (model == models_.end()) {
    if (starting_) {
      throw RequestError(Status::kUnavailable,
                         fmt::format("model '{}' is not there yet: models are being loaded", name),
                         /*retry_after_s=*/1);
    }
    std::vector<std::string> names;
    for (const auto& [known, versions] : models_) names.push_back(known);
    refuse(Status::kNotFound, "Request for unknown model: '{}' is not found.{}", name,
           did_you_mean(name, names));
  }
  const Versions& versions = model->second;
  if (!version.empty()) {
    const auto number = version_number(version);
    const auto found = number ? versions.find(*number) : versions.end();
    if (found == versions.end()) {
      refuse(Status::kNotFound, "Request for unknown model: '{}' version {} is not found", name,
             version);
    }
    if (found->second.serving) return found->second.serving;
    refuse_if_loading(name, found->second.state);
    refuse(Status::kBadRequest, "model '{}' version {} is not ready: {}", name, version,
           found->second.reason);
  }
  // The highest version that serves, even while a higher one is being loaded or is broken.
  for (auto it = versions.rbegin(); it != versions.rend(); ++it) {
    if (it->second.serving) return it->second.serving;
  }
  if (!versions.empty()) refuse_if_loading(name, versions.rbegin()->second.state);
  refuse(Status::kBadRequest, "Request for unknown model: '{}' has no version that is ready{}{}",
         name, versions.empty() ? "" : ": ",
         versions.empty() ? "" : versions.rbegin()->second.reason);
}

std::vector<std::shared_ptr<ModelVersion>> Registry::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<ModelVersion>> list;
  for (const auto& [name, versions] : models_) {
    for (const auto& [number, version] : versions) {
      if (version.serving) list.push_back(version.serving);
    }
  }
  return list;
}

std::vector<IndexEntry> Registry::index() const {
  const std::lock_guard lock(mutex_);
  std::vector<IndexEntry> list;
  for (const auto& [name, versions] : models_) {
    if (versions.empty()) list.push_back({name, "", VersionState::kUnavailable, "unloaded"});
    for (const auto& [number, version] : versions) {
      // 0 stands for trouble before any version was looked at.
      list.push_back(
          {name, number > 0 ? std::to_string(number) : "", version.state, version.reason});
    }
  }
  return list;
}

bool Registry::ready() const {
  if (starting_) return false;
  const std::vector<IndexEntry> entries = index();
  return std::none_of(entries.begin(), entries.end(), [](const IndexEntry& entry) {
    return entry.state == VersionState::kLoading;
  });
}

// Names come from strangers: one that could leave the repository is no model's.
std::filesystem::path Registry::folder_of(const std::string& name) const {
  const bool plain = !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
                     name.find('\\') == std::string::npos && name.find('\0') == std::string::npos;
  if (options_.repository.empty()) {
    refuse(Status::kBadRequest, "there is no repository to load from; start with `repository`");
  }
  // A name that is longer than the file system's is no folder's either.
  std::error_code problem;
  if (!plain || !std::filesystem::is_directory(options_.repository / name, problem)) {
    refuse(Status::kNotFound, "failed to load '{}', no such model in the repository", name);
  }
  return options_.repository / name;
}

// Both times may be 0, for files that are not there.
Registry::FileVersion Registry::stamp_of(const std::filesystem::path& folder,
                                         int64_t version) const {
  const std::filesystem::path file = folder / std::to_string(version) / kModelFile;
  std::error_code problem;
  const auto bytes = std::filesystem::file_size(file, problem);
  return {
      .bytes = problem ? -1 : static_cast<int64_t>(bytes),
      .time = modified(file),
      .config_time = std::max(modified(folder / "config.pbtxt"), modified(folder / "config.yaml"))};
}

// The stamp is kept with the failure, so that poll() tries again only when the files change.
void Registry::note_failure(const std::string& name, int64_t version, const std::string& reason,
                            const FileVersion& stamp) {
  const std::lock_guard lock(mutex_);
  Version& entry = models_[name][version];
  // An older one goes on.
  entry.state = entry.serving ? VersionState::kReady : VersionState::kUnavailable;
  if (entry.reason != reason) {
    say("model '{}'{}: {}", name, version > 0 ? fmt::format(" version {}", version) : "", reason);
  }
  entry.reason = reason;
  entry.stamp = stamp;
}

std::string Registry::load_version(const std::string& name, const ModelConfig& config,
                                   int64_t version, const FileVersion& stamp) {
  const std::filesystem::path folder = options_.repository / name;
  return load_version(name, config, version, stamp, [&] {
    const std::filesystem::path file = folder / std::to_string(version) / kModelFile;
    TY_REQUIRE(std::filesystem::exists(file), "there is no {}", file.string());
    NetworkSource source = file_source(file);
    if (!config.label_file.empty()) source.labels = read_names_if_any(folder / config.label_file);
    return source;
  });
}

std::string Registry::load_version(const std::string& name, const ModelConfig& config,
                                   int64_t version, const FileVersion& stamp,
                                   const std::function<NetworkSource()>& open) {
  {
    const std::lock_guard lock(mutex_);
    Version& entry = models_[name][version];
    // A version that is replaced keeps serving, and is ready, until its successor is made.
    if (!entry.serving) entry.state = VersionState::kLoading;
  }
  std::shared_ptr<ModelVersion> made;
  try {
    made = std::make_shared<ModelVersion>(config, version, open(), shared());
  } catch (...) {
    // Whatever a broken file leads to must not end the server.
    std::string reason = what_went_wrong();
    note_failure(name, version, reason, stamp);
    return reason;
  }
  std::shared_ptr<ModelVersion> old;
  {
    const std::lock_guard lock(mutex_);
    Version& entry = models_[name][version];
    old = std::move(entry.serving);
    entry = {std::move(made), VersionState::kReady, "", stamp};
    say("model '{}' version {} is ready", name, version);
  }
  // Outside of the lock: requests that hold the old version are answered within the drain time.
  if (old) old->shut_down(Clock::now() + options_.drain);
  return "";
}

// Versions leave the map first, so that no new request finds them, and are then shut down without
// the lock.
void Registry::retire(const std::string& name, const std::vector<int64_t>& kept) {
  std::vector<std::shared_ptr<ModelVersion>> leaving;
  {
    const std::lock_guard lock(mutex_);
    Versions& versions = models_[name];
    for (auto it = versions.begin(); it != versions.end();) {
      const bool stays = std::find(kept.begin(), kept.end(), it->first) != kept.end();
      if (!stays && it->second.serving) {
        leaving.push_back(it->second.serving);
        say("model '{}' version {} goes", name, it->first);
      }
      it = stays ? std::next(it) : versions.erase(it);
    }
  }
  for (const auto& version : leaving) version->shut_down(Clock::now() + options_.drain);
  if (leaving.empty()) return;
  leaving.clear();
  malloc_trim(0);  // large models would otherwise seem to stay
}

ModelConfig Registry::config_of(const std::string& name, const Json& config) const {
  ModelConfig defaults = options_.defaults;
  defaults.name = name;
  ModelConfig read = read_config(config, defaults, "parameters.config");
  TY_REQUIRE(read.name == name, "parameters.config: the name is '{}', expected '{}'", read.name,
             name);
  return read;
}

void Registry::load_model(const std::string& name, const Json& override, bool only_changed) {
  const std::filesystem::path folder = folder_of(name);
  // An override stands instead of the configuration file; it does not add to it.
  const ModelConfig config =
      override.is_null() ? load_config(folder, options_.defaults) : config_of(name, override);
  std::vector<int64_t> older = versions_in(folder);
  std::vector<int64_t> kept = choose(config.versions, older);
  TY_REQUIRE(!kept.empty(), "{}: there is no version; expected folders named 1, 2, …",
             folder.string());
  std::string reasons;
  // Whether it is being served afterwards.
  const auto bring = [&](int64_t version) {
    const FileVersion stamp = stamp_of(folder, version);
    {
      const std::lock_guard lock(mutex_);
      const Version& known = models_[name][version];
      if (only_changed && known.stamp == stamp && known.state != VersionState::kLoading) {
        return known.serving != nullptr;
      }
    }
    const std::string reason = load_version(name, config, version, stamp);
    if (!reason.empty()) reasons += fmt::format("version {}: {}; ", version, reason);
    return reason.empty();
  };
  bool any = false;
  for (const int64_t version : kept) any = bring(version) || any;
  // The latest are all broken: an older one is better than none, unless versions were listed.
  if (!config.versions.listed.empty()) older.clear();
  while (!any && !older.empty()) {
    const int64_t version = older.back();
    older.pop_back();
    if (std::find(kept.begin(), kept.end(), version) != kept.end()) continue;
    kept.push_back(version);
    any = bring(version);
  }
  // Only if something serves: a broken update must not take the working versions away.
  if (any) retire(name, kept);
  if (!reasons.empty()) {
    throw VersionsFailed(Status::kBadRequest, fmt::format("failed to load '{}', {}", name,
                                                          reasons.substr(0, reasons.size() - 2)));
  }
}

void Registry::load(const std::string& name, const Json& override) {
  const std::lock_guard changing(loading_);
  unloaded_.erase(name);
  uploaded_.erase(name);
  load_model(name, override, /*only_changed=*/false);
}

// Nothing is written to a disk: the bytes that came are what the model is built from.
void Registry::load_files(const std::string& name, const Json& config,
                          const std::map<std::string, std::string>& files) {
  if (config.is_null()) {
    refuse(Status::kBadRequest,
           "failed to load '{}', failed to load model with file override: parameters.config is "
           "needed with files",
           name);
  }
  const ModelConfig read = config_of(name, config);
  TY_REQUIRE(read.label_file.empty(), "failed to load '{}': a label file cannot be sent", name);
  std::map<int64_t, const std::string*> versions;
  for (const auto& [path, bytes] : files) {
    const size_t slash = path.find('/');
    const auto version = version_number(path.substr(0, slash));
    if (!version || slash == std::string::npos || path.substr(slash + 1) != kModelFile) {
      refuse(Status::kBadRequest, "failed to load '{}': file:{}, expected file:VERSION/{}", name,
             path, kModelFile);
    }
    versions[*version] = &bytes;
  }
  const std::lock_guard changing(loading_);
  std::vector<int64_t> kept;
  for (const auto& [version, bytes] : versions) {
    const std::string origin = fmt::format("file:{}/{}", version, kModelFile);
    const std::string reason = load_version(
        name, read, version, {}, [&file = *bytes, &origin] { return bytes_source(file, origin); });
    if (!reason.empty()) {
      refuse(Status::kBadRequest, "failed to load '{}', version {}: {}", name, version, reason);
    }
    kept.push_back(version);
  }
  unloaded_.erase(name);
  uploaded_.insert(name);
  retire(name, kept);
}

void Registry::load_all() {
  TY_REQUIRE(std::filesystem::is_directory(options_.repository),
             "`repository` {}: there is no such folder", options_.repository.string());
  poll();
}

std::optional<std::vector<std::string>> Registry::folders() const {
  std::vector<std::string> names;
  std::error_code problem;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at(options_.repository, problem); !problem && at != end;
       at.increment(problem)) {
    const std::string name = at->path().filename().string();
    std::error_code unknown;
    if (at->is_directory(unknown) && name[0] != '.') names.push_back(name);
  }
  if (problem) return std::nullopt;
  std::sort(names.begin(), names.end());
  return names;
}

// One model that fails does not keep the others from being loaded.
void Registry::poll_model(const std::string& name) {
  if (unloaded_.contains(name) || uploaded_.contains(name)) return;
  try {
    load_model(name, Json(), /*only_changed=*/true);
  } catch (const VersionsFailed&) {
    // In the index, by version.
  } catch (const std::exception& error) {
    note_failure(name, 0, error.what(), {});
  }
}

void Registry::forget_gone(const std::vector<std::string>& names) {
  std::vector<std::string> gone;
  for (const IndexEntry& entry : index()) {
    if (uploaded_.contains(entry.name)) continue;
    if (!std::binary_search(names.begin(), names.end(), entry.name)) gone.push_back(entry.name);
  }
  for (const std::string& name : gone) {
    retire(name, {});
    unloaded_.erase(name);
    const std::lock_guard lock(mutex_);
    models_.erase(name);
  }
}

void Registry::poll() {
  if (options_.repository.empty()) return;
  const std::lock_guard changing(loading_);
  const std::optional<std::vector<std::string>> names = folders();
  // A folder that cannot be read for a while does not mean that its models are gone.
  if (!names) return;
  for (const std::string& name : *names) {
    if (ending_) return;
    poll_model(name);
  }
  forget_gone(*names);
}

void Registry::unload(const std::string& name) {
  const std::lock_guard changing(loading_);
  {
    const std::lock_guard lock(mutex_);
    if (!models_.contains(name)) {
      refuse(Status::kNotFound, "failed to unload '{}', no such model", name);
    }
    // Seen in the index until the requests under way are answered.
    for (auto& [number, version] : models_[name]) version.state = VersionState::kUnloading;
  }
  unloaded_.insert(name);
  uploaded_.erase(name);
  retire(name, {});
}

// Waits for a change under way, whose models are then shut down with the rest.
void Registry::shut_down(std::chrono::milliseconds limit) {
  const std::lock_guard changing(loading_);
  const Clock::time_point until = Clock::now() + limit;
  for (const auto& version : all()) version->shut_down(until);
  side_.finish();
  const std::lock_guard lock(mutex_);
  models_.clear();
}

}  // namespace trainyard::serve
