#include "serve/models/model_config.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <type_traits>

#include "base/error.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/yaml.h"
#include "serve/models/config_bounds.h"

namespace trainyard::serve {
namespace {

// TYPE_FP32 -> FP32, TYPE_STRING -> BYTES.
std::string protocol_type(const std::string& type) {
  const std::string name = type.starts_with("TYPE_") ? type.substr(5) : type;
  return name == "STRING" ? "BYTES" : name;
}

std::string config_type(DType dtype) {
  return dtype == DType::kText ? "TYPE_STRING" : "TYPE_" + std::string(protocol_name(dtype));
}

// Fields of one message: each is asked for once, and the rest is named.
class Fields {
 public:
  Fields(const Json& message, std::string path, std::string_view origin,
         std::vector<std::string>& ignored)
      : message_(message), path_(std::move(path)), origin_(origin), ignored_(ignored) {
    TY_REQUIRE(message.is_object(), "{}: '{}' is no message", origin, path_);
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  ~Fields() {
    for (const auto& [name, value] : message_.members()) {
      if (!known_.contains(name)) ignored_.push_back(path_ + name);
    }
  }

  const Json* find(const std::string& name) {
    known_.insert(name);
    return message_.find(name);
  }
  // A repeated field, which has one item if it is written once.
  std::vector<const Json*> all(const std::string& name) {
    std::vector<const Json*> items;
    const Json* field = find(name);
    if (field == nullptr) return items;
    if (!field->is_array()) return {field};
    for (const Json& item : field->items()) items.push_back(&item);
    return items;
  }
  void read(const std::string& name, std::string& target) {
    if (const Json* field = find(name)) target = named(name, [&] { return field->as_string(); });
  }
  void read(const std::string& name, bool& target) {
    if (const Json* field = find(name)) target = named(name, [&] { return field->as_bool(); });
  }
  void read(const std::string& name, int64_t& target) {
    if (const Json* field = find(name)) target = count(name, *field);
  }
  void read(const std::string& name, std::vector<int64_t>& target) {
    for (const Json* item : all(name)) target.push_back(count(name, *item));
  }
  // Reads a nested message if it is there; fields of it that nobody asks for end up in `ignored`
  // with their path.
  template <typename F>
  void message(const std::string& name, F&& read_it) {
    if (const Json* field = find(name)) {
      Fields inner(*field, path_ + name + ".", origin_, ignored_);
      read_it(inner);
    }
  }
  template <typename F>
  void messages(const std::string& name, F&& read_it) {
    for (const Json* item : all(name)) {
      Fields inner(*item, path_ + name + ".", origin_, ignored_);
      read_it(inner);
    }
  }

 private:
  template <typename F>
  std::invoke_result_t<F> named(const std::string& name, F&& get) {
    try {
      return get();
    } catch (const Error& error) {
      throw_error("{}: field '{}{}': {}", origin_, path_, name, error.what());
    }
  }
  // A text of digits will do, since that is how protobuf's JSON has 64-bit numbers.
  int64_t count(const std::string& name, const Json& field) {
    const int64_t value = named(name, [&] {
      if (!field.is_string()) return field.as_int();
      JsonReader digits(field.as_string(), "the text");
      return digits.integer();
    });
    // Only dimensions may be -1, which means open.
    const bool dims = name == "dims" || name == "shape";
    TY_REQUIRE(value >= (dims ? -1 : 0) && value <= (int64_t{1} << 40),
               "{}: field '{}{}' is {}, expected {} or more", origin_, path_, name, value,
               dims ? -1 : 0);
    return value;
  }

  const Json& message_;
  std::string path_;
  std::string_view origin_;
  std::vector<std::string>& ignored_;
  std::set<std::string> known_;
};

// Open dimensions stay in their order; the others hold as many elements.
void check_reshape(const TensorSpec& spec, std::string_view origin) {
  const auto split = [](const std::vector<int64_t>& dims) {
    std::pair<int64_t, int64_t> counts = {0, 1};
    for (const int64_t dim : dims) {
      if (dim < 0) {
        ++counts.first;
      } else {
        counts.second *= std::min(dim, int64_t{1} << 20);
      }
    }
    return counts;
  };
  TY_REQUIRE(spec.outside->size() <= 32 && spec.dims.size() <= 32 &&
                 split(*spec.outside) == split(spec.dims),
             "{}: '{}' has dims {} and reshape {}, expected as many elements", origin, spec.name,
             dims_text(*spec.outside), dims_text(spec.dims));
}

void read_tensors(Fields& fields, const std::string& name, std::vector<TensorSpec>& specs,
                  std::string& labels, std::string_view origin) {
  fields.messages(name, [&](Fields& tensor) {
    TensorSpec spec;
    std::string type;
    std::string file;
    tensor.read("name", spec.name);
    tensor.read("data_type", type);
    tensor.read("dims", spec.dims);
    tensor.read("label_filename", file);
    tensor.find("format");  // for clients
    tensor.message("reshape", [&](Fields& reshape) {
      spec.outside = std::exchange(spec.dims, {});
      reshape.read("shape", spec.dims);
      check_reshape(spec, origin);
    });
    // Configurations come over the network too, and clients are shown the labels.
    const std::filesystem::path path(file);
    TY_REQUIRE(path.is_relative() && std::find(path.begin(), path.end(), "..") == path.end(),
               "{}: label_filename is '{}', expected a file in the model's folder", origin, file);
    // Triton has a file of labels per output; the first one serves all.
    if (labels.empty()) labels = file;
    spec.dtype = dtype_from_protocol(protocol_type(type), fmt::format("{}: {}", origin, name));
    specs.push_back(std::move(spec));
  });
}

void read_queue_policy(Fields& batching, ModelConfig& config) {
  batching.message("default_queue_policy", [&](Fields& policy) {
    int64_t timeout = 0;
    policy.read("default_timeout_microseconds", timeout);
    if (timeout > 0) config.default_timeout = std::chrono::microseconds(timeout);
    policy.read("allow_timeout_override", config.allow_timeout_override);
    policy.read("max_queue_size", config.max_queue);
    // Only REJECT is done; another action is listed with what is ignored.
    std::string action = "REJECT";
    policy.read("timeout_action", action);
    if (action != "REJECT") config.ignored.push_back("timeout_action: " + action);
  });
}

void read_batching(Fields& fields, ModelConfig& config) {
  fields.message("dynamic_batching", [&](Fields& batching) {
    config.preferred_batches.clear();
    batching.read("preferred_batch_size", config.preferred_batches);
    int64_t delay = config.max_delay.count();
    batching.read("max_queue_delay_microseconds", delay);
    config.max_delay = std::chrono::microseconds(delay);
    batching.read("preserve_ordering", config.preserve_order);
    batching.read("priority_levels", config.priority_levels);
    batching.read("default_priority_level", config.default_priority);
    read_queue_policy(batching, config);
  });
}

void read_versions(Fields& fields, ModelConfig& config) {
  fields.message("version_policy", [&](Fields& policy) {
    config.versions.listed.clear();
    policy.message("latest",
                   [&](Fields& latest) { latest.read("num_versions", config.versions.latest); });
    policy.message("all", [&](Fields&) { config.versions.latest = 0; });
    policy.message("specific",
                   [&](Fields& specific) { specific.read("versions", config.versions.listed); });
  });
}

void read_instances(Fields& fields, ModelConfig& config) {
  int64_t instances = 0;
  fields.messages("instance_group", [&](Fields& group) {
    int64_t count = 1;
    group.read("count", count);
    std::string kind = "KIND_CPU";
    group.read("kind", kind);
    if (kind != "KIND_CPU" && kind != "KIND_AUTO") config.ignored.push_back("kind: " + kind);
    instances += count;
  });
  if (instances > 0) config.instances = instances;
}

void read_fields(const Json& tree, ModelConfig& config, std::string_view origin) {
  Fields fields(tree, "", origin, config.ignored);
  fields.read("name", config.name);
  fields.read("platform", config.platform);
  // Without effect here, but known: asking for a field keeps it out of `ignored`.
  fields.find("backend");
  fields.find("default_model_filename");
  if (fields.find("max_batch_size") != nullptr) {
    int64_t most = 0;
    fields.read("max_batch_size", most);
    config.max_batch = most;
  }
  config.inputs.clear();
  config.outputs.clear();
  read_tensors(fields, "input", config.inputs, config.label_file, origin);
  read_tensors(fields, "output", config.outputs, config.label_file, origin);
  read_batching(fields, config);
  read_versions(fields, config);
  read_instances(fields, config);
  fields.message("response_cache",
                 [&](Fields& cache) { cache.read("enable", config.response_cache); });
  if (fields.find("model_warmup") != nullptr) config.warm_ups.clear();
  fields.messages("model_warmup", [&](Fields& warmup) {
    WarmUp entry;
    warmup.read("name", entry.name);
    warmup.read("batch_size", entry.batch);
    warmup.read("count", entry.count);
    warmup.find("inputs");  // random numbers of the network's own types are used
    config.warm_ups.push_back(std::move(entry));
  });
  fields.message("optimization", [&](Fields& optimization) {
    optimization.message("execution", [&](Fields& e) { e.read("threads", config.threads); });
  });
}

}  // namespace

ModelConfig read_config(const Json& tree, ModelConfig config, std::string_view origin) {
  config.ignored.clear();
  config.given = known_config(tree);
  read_fields(tree, config, origin);
  check_bounds(config, origin);
  return config;
}

ModelConfig load_config(const std::filesystem::path& folder, const ModelConfig& defaults) {
  ModelConfig config = defaults;
  config.name = folder.filename().string();
  constexpr int64_t kMostBytes = 1 << 20;
  const std::filesystem::path text = folder / "config.pbtxt";
  const std::filesystem::path yaml = folder / "config.yaml";
  if (std::filesystem::exists(text)) {
    const TextConfig read = parse_text_config(read_file(text, kMostBytes), text.string());
    config = read_config(read.tree, config, text.string());
    config.ignored.insert(config.ignored.end(), read.unknown.begin(), read.unknown.end());
  } else if (std::filesystem::exists(yaml)) {
    config = read_config(YamlDocument::parse(read_file(yaml, kMostBytes), yaml.string())->json(),
                         config, yaml.string());
  }
  // Clients find a model by its folder, so another name in the file is a mistake.
  TY_REQUIRE(config.name == folder.filename().string(),
             "{}: the name is '{}', expected that of the folder, '{}'", folder.string(),
             config.name, folder.filename().string());
  return config;
}

namespace {

// What was given of each, and what is known of it now.
Json tensors_json(const std::vector<TensorSpec>& specs, const Json* given) {
  Json list = Json::array();
  for (const TensorSpec& spec : specs) {
    Json item = Json::object();
    for (const Json& known : given != nullptr ? given->items() : Json::Array{}) {
      const Json* const name = known.find("name");
      if (name != nullptr && name->as_string() == spec.name) item = known;
    }
    item["name"] = spec.name;
    item["data_type"] = config_type(spec.dtype);
    item["dims"] = Json::array_of(spec.client_dims());
    list.push_back(std::move(item));
  }
  return list;
}

Json versions_json(const VersionPolicy& policy) {
  Json out = Json::object();
  if (!policy.listed.empty()) {
    out["specific"]["versions"] = Json::array_of(policy.listed);
  } else if (policy.latest > 0) {
    out["latest"]["num_versions"] = policy.latest;
  } else {
    out["all"] = Json::object();
  }
  return out;
}

}  // namespace

// In the form of Triton's model configuration.
Json config_json(const ModelConfig& config) {
  Json out = config.given;
  out["name"] = config.name;
  out["platform"] = config.platform;
  out["backend"] = "onnxruntime";
  out["max_batch_size"] = config.max_batch.value_or(0);
  out["input"] = tensors_json(config.inputs, config.given.find("input"));
  out["output"] = tensors_json(config.outputs, config.given.find("output"));
  out["version_policy"] = versions_json(config.versions);
  // A configuration has one kind of scheduling.
  const bool other =
      out.find("sequence_batching") != nullptr || out.find("ensemble_scheduling") != nullptr;
  if (config.max_batch.value_or(0) > 0 && !other) {
    Json& batching = out["dynamic_batching"];
    batching["preferred_batch_size"] = Json::array_of(config.preferred_batches);
    batching["max_queue_delay_microseconds"] = static_cast<int64_t>(config.max_delay.count());
    batching["preserve_ordering"] = config.preserve_order;
    batching["priority_levels"] = config.priority_levels;
    batching["default_priority_level"] = config.default_priority;
    batching["default_queue_policy"]["max_queue_size"] = config.max_queue;
  }
  if (out.find("instance_group") == nullptr) {
    Json group = Json::object({{"count", config.instances}, {"kind", "KIND_CPU"}});
    out["instance_group"].push_back(std::move(group));
  }
  out["response_cache"]["enable"] = config.response_cache;
  return out;
}

}  // namespace trainyard::serve
