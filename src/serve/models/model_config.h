// How a model is served, from the command line, config.pbtxt or config.yaml.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "serve/protocol/tensor_types.h"

namespace trainyard::serve {

// Which versions of a model are served.
struct VersionPolicy {
  int64_t latest = 1;           // so many of the highest numbers; 0: all
  std::vector<int64_t> listed;  // these alone, if there are any
};

struct WarmUp {
  std::string name;
  int64_t batch = 1;
  int64_t count = 1;
};

struct ModelConfig {
  std::string name;
  std::string platform = "onnxruntime_onnx";
  // Rows computed at once at most; 0: the first dimension is no batch. None: as the file allows.
  std::optional<int64_t> max_batch;
  std::vector<int64_t> preferred_batches;  // what is waiting is taken in these sizes
  std::chrono::microseconds max_delay{0};  // how long a request may wait for others
  bool preserve_order = false;
  int64_t priority_levels = 0;
  int64_t default_priority = 0;
  int64_t max_queue = 256;                                   // requests
  std::optional<std::chrono::microseconds> default_timeout;  // in the queue
  bool allow_timeout_override = true;
  // Computing at the same time; 0: one per core for a network that runs on one thread, else one, or
  // what ModelVersion::spreads() says.
  int64_t instances = 0;
  int64_t threads = 0;            // per instance; 0: all cores divided by the instances
  std::string device = "cpu";     // where it is computed, as device::open_network_device() takes it
  std::string precision = "f32";  // of products, as kernels::precision_named() takes it
  VersionPolicy versions;
  bool response_cache = false;
  std::vector<WarmUp> warm_ups;
  std::string label_file;  // in the model's folder; of the first output that names one
  // As declared, without the batch; checked against the network.
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  // Every field that was given, for clients that know what to make of it.
  Json given = Json::object();
  // Fields that were there and mean nothing here.
  std::vector<std::string> ignored;
};

// What the fields of Triton's ModelConfig say. Throws Error naming a field with a wrong value.
ModelConfig read_config(const Json& tree, ModelConfig defaults, std::string_view origin);
// config.pbtxt or config.yaml of a model's folder; `defaults` where there is neither.
ModelConfig load_config(const std::filesystem::path& folder, const ModelConfig& defaults);
// As GET …/config gives it.
Json config_json(const ModelConfig& config);

// config.pbtxt: messages become objects, repeated fields arrays. Throws Error with line and column.
struct TextConfig {
  Json tree;
  std::vector<std::string> unknown;  // what is no field of a configuration, in protobuf's words
};
TextConfig parse_text_config(std::string_view text, std::string_view origin);
// The fields of a configuration in any form as Triton's JSON has them; empty if it is none.
Json known_config(const Json& tree);

}  // namespace trainyard::serve
