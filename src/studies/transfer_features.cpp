#include "studies/transfer_features.h"

#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "base/random.h"
#include "data/loader.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "runs/safetensors.h"

namespace trainyard::recipes {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNumbersName = "features";
constexpr const char* kLabelsName = "labels";

// Not cryptographic: it tells versions of a cache apart, nothing more.
class Hash {
 public:
  void add(std::string_view text) { state_ = mix_bits(state_ ^ hash_text(text)); }
  void add(int64_t number) { state_ = mix_bits(state_ ^ static_cast<uint64_t>(number)); }
  void add(const void* data, int64_t bytes) {
    add(std::string_view(static_cast<const char*>(data), static_cast<size_t>(bytes)));
  }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  uint64_t state_ = 0;
};

// Structure and weights: other weights give other features.
void add_network(const Graph& graph, Hash& hash) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    hash.add(node.op);
    for (const ValueId input : node.inputs) {
      hash.add(input.valid() ? graph.value(input).name : std::string());
    }
    for (const auto& [name, value] : node.attributes) {
      hash.add(name);
      hash.add(attribute_text(value));
    }
  }
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    hash.add(value.name);
    TY_REQUIRE(value.constant != nullptr, "'{}' has no weights yet", value.name);
    hash.add(value.constant->data(), value.constant->num_bytes());
  }
}

void add_set(const data::Dataset& set, Hash& hash) {
  hash.add(set.source());
  hash.add(set.size());
  data::Pixels room;
  for (int64_t i = 0; i < set.size(); ++i) {
    const fs::path file = set.sample_name(i);
    hash.add(file.string());
    hash.add(set.label(i));
    std::error_code absent;
    // A sample that is a file of its own is known by size and time; others (arrays in one file) by
    // their pixels.
    if (fs::is_regular_file(file, absent)) {
      // Decoding it would take as long as the features.
      hash.add(static_cast<int64_t>(fs::file_size(file)));
      hash.add(static_cast<int64_t>(fs::last_write_time(file).time_since_epoch().count()));
    } else {
      const data::PixelView picture = set.pixels(i, room);
      hash.add(picture.data, picture.shape.elements());
    }
  }
}

// Samples in the order of the set: the loader does not shuffle unless asked to.
Features compute(const FeaturesRequest& request) {
  Graph graph = *request.network;
  const int64_t batch = batch_of(graph);
  const int64_t numbers = graph.value(graph.outputs()[0]).type.shape[1];
  const int64_t pictures = request.set->size();
  Features features{Tensor(DType::kF32, {pictures, numbers}), Tensor(DType::kI64, {pictures})};
  runtime::CompileOptions options;
  options.threads = request.threads;
  runtime::ExecutionContext context(runtime::compile(std::move(graph), options));
  data::Loader loader(
      *request.set,
      {.batch = batch, .workers = request.data_workers, .augmentations = request.steps});
  int64_t done = 0;
  loader.start_epoch(0);
  while (const data::Batch* made = loader.next()) {
    context.set_input(0, made->images);
    context.run();
    const auto found = context.output(0).values<float>();
    std::memcpy(features.numbers.values<float>().data() + done * numbers, found.data(),
                static_cast<size_t>(made->valid * numbers) * sizeof(float));
    std::memcpy(features.labels.values<int64_t>().data() + done,
                made->labels.values<int64_t>().data(),
                static_cast<size_t>(made->valid) * sizeof(int64_t));
    done += made->valid;
    if (request.progress) request.progress(done, pictures);
    if (request.should_stop && request.should_stop()) throw_failure("stopped");
  }
  return features;
}

}  // namespace

std::string features_key(const FeaturesRequest& request) {
  Hash hash;
  add_network(*request.network, hash);
  add_set(*request.set, hash);
  hash.add(request.steps);
  return hash.text();
}

// The key names the file, so a changed network, data set or step is computed anew beside the old.
Features cached_features(const FeaturesRequest& request, const fs::path& folder) {
  const fs::path path = folder / fmt::format("features-{}.safetensors", features_key(request));
  // Written under a temporary name, so a file that is there is whole.
  if (fs::exists(path)) {
    const runs::SafetensorsFile file(path);
    return {file.tensor(kNumbersName), file.tensor(kLabelsName)};
  }
  Features features = compute(request);
  fs::create_directories(folder);
  runs::SafetensorsWriter writer(
      path, {{kNumbersName, features.numbers.type()}, {kLabelsName, features.labels.type()}},
      {{"data", request.set->source()}, {"preprocessing", request.steps}});
  writer.write(features.numbers);
  writer.write(features.labels);
  writer.commit();
  return features;
}

}  // namespace trainyard::recipes
