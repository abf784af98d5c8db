// The models that are being served, by name and version.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "http/events.h"
#include "serve/models/model_version.h"

namespace trainyard::serve {

struct RegistryOptions {
  std::filesystem::path repository;         // empty: models come by add() alone
  ModelConfig defaults;                     // where a model says nothing
  int64_t cache_bytes = 0;                  // of responses; 0: none
  std::chrono::milliseconds drain{30'000};  // for the requests of a version that goes
  int cores = 1;
};

enum class VersionState : uint8_t { kReady, kUnavailable, kLoading, kUnloading };
std::string_view state_name(VersionState state);

struct IndexEntry {
  std::string name;
  std::string version;  // empty: none is known
  VersionState state = VersionState::kUnavailable;
  std::string reason;
};

// Thread-safe; load, unload and poll wait for each other, and none of them holds up find().
class Registry {
 public:
  explicit Registry(RegistryOptions options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Models are about to be loaded for the first time, until end_start(): not ready, and a model
  // that is not known yet may come.
  void begin_start() { starting_ = true; }
  void end_start() { starting_ = false; }
  // Nothing more is loaded.
  void stop_loading() { ending_ = true; }

  // A model that is in no repository, as version 1.
  void add(ModelConfig config, NetworkSource source);

  // The highest version if `version` is empty. Throws RequestError: kNotFound for what is not
  // known, kUnavailable for what is being loaded, kBadRequest for what cannot be served.
  std::shared_ptr<ModelVersion> find(const std::string& name, const std::string& version) const;
  std::vector<std::shared_ptr<ModelVersion>> all() const;
  std::vector<IndexEntry> index() const;
  // Nothing is being loaded for the first time. A model that cannot be served does not make the
  // others unready: the index says why.
  bool ready() const;

  // Everything in the repository's folder; what cannot be served is in the index with the reason.
  void load_all();
  // From the repository, anew if it is there already, and whether it was unloaded or not.
  // `override` replaces the configuration file; null: there is none. Throws RequestError; an old
  // version keeps serving then.
  void load(const std::string& name, const Json& override);
  // From the bytes of its files, by their path within the model's folder; `config` stands in place
  // of the configuration file. The only files are VERSION/model.onnx. poll() leaves it alone until
  // it is loaded from the repository again. Throws RequestError.
  void load_files(const std::string& name, const Json& config,
                  const std::map<std::string, std::string>& files);
  // Until it is loaded again by name: poll() leaves it alone.
  void unload(const std::string& name);
  // Loads what has changed on the disk, unloads what is gone.
  void poll();
  // For what takes longer than connections may wait.
  PictureWork& side_work() { return side_; }

  void shut_down(std::chrono::milliseconds limit);
  const ResponseCache* cache() const { return cache_ ? &*cache_ : nullptr; }

 private:
  // What tells whether a file is the one that was loaded.
  struct FileVersion {
    int64_t bytes = 0;
    int64_t time = 0;
    int64_t config_time = 0;
    bool operator==(const FileVersion&) const = default;
  };
  struct Version {
    std::shared_ptr<ModelVersion> serving;  // null: none
    VersionState state = VersionState::kLoading;
    std::string reason;
    FileVersion stamp;
  };
  using Versions = std::map<int64_t, Version>;

  Shared shared() { return {gate_, cache_ ? &*cache_ : nullptr, &side_, &ending_}; }
  std::filesystem::path folder_of(const std::string& name) const;
  FileVersion stamp_of(const std::filesystem::path& folder, int64_t version) const;
  void load_model(const std::string& name, const Json& override, bool only_changed);
  // `config` replaces the configuration file; null: there is none.
  ModelConfig config_of(const std::string& name, const Json& config) const;
  // Empty if it was loaded, otherwise why not.
  std::string load_version(const std::string& name, const ModelConfig& config, int64_t version,
                           const FileVersion& stamp);
  std::string load_version(const std::string& name, const ModelConfig& config, int64_t version,
                           const FileVersion& stamp, const std::function<NetworkSource()>& open);
  void note_failure(const std::string& name, int64_t version, const std::string& reason,
                    const FileVersion& stamp);
  void retire(const std::string& name, const std::vector<int64_t>& kept);
  // In the order of their names; nothing if the repository cannot be read now.
  std::optional<std::vector<std::string>> folders() const;
  void poll_model(const std::string& name);
  // Unloads models whose folder is not among those.
  void forget_gone(const std::vector<std::string>& names);
  // What has changed since the start.
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) const {
    if (!starting_) say_event(fmt::format(format, std::forward<Args>(args)...));
  }

  RegistryOptions options_;
  ComputeGate gate_;
  std::optional<ResponseCache> cache_;
  PictureWork side_;
  std::atomic<bool> starting_{false};
  std::atomic<bool> ending_{false};
  std::mutex loading_;  // one change at a time
  mutable std::mutex mutex_;
  std::map<std::string, Versions> models_;
  std::set<std::string> unloaded_;  // by name
  std::set<std::string> uploaded_;  // their files lie in no repository
};

}  // namespace trainyard::serve
