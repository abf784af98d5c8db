// One version of a network: where its graph comes from, what it takes and gives, and its compiled
// forms, one per shape of the inputs.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "data/image.h"
#include "data/pixels.h"
#include "engine/executable.h"
#include "models/detection/priors.h"
#include "models/model_notes.h"
#include "models/network.h"
#include "models/onnx/bind_inputs.h"
#include "serve/models/model_config.h"
#include "serve/protocol/tensor_types.h"

namespace trainyard::serve {

// How pictures become the network's input.
struct PictureInput {
  bool given = false;  // by who started the server, not by the file
  // Of the input's own height, width and channels; where the file does not say how it was trained.
  data::Preprocessing preprocessing;
  std::optional<network::Preparation> training = {};  // what the file says of it
};

struct NetworkSource {
  // May be called several times; throws Error for what cannot be bound.
  std::function<Graph(const onnx_io::ImportOptions&)> build;
  std::vector<onnx_io::DeclaredInput> declared;
  std::vector<onnx_io::DeclaredInput> outputs =
      {};  // as the file declares them; empty: it does not
  std::vector<std::string> labels = {};
  PictureInput picture = {};
  std::vector<detect::PriorShape> shapes = {};  // of a detector's priors
  std::optional<data::TableSchema> table = {};  // of a network that was trained on one
};

// Reads the file into memory, so that it may change on the disk meanwhile (weights in files of
// their own stay mapped). Labels and the steps from picture to input are those of its metadata.
NetworkSource file_source(const std::filesystem::path& path);
// The same of bytes that lie in no file; `origin` stands for its name in errors.
NetworkSource bytes_source(std::string bytes, const std::string& origin);
// MODEL as commands take it. Networks of the zoo have their batch in front.
NetworkSource model_source(const network::Request& request);

// Fixes the shapes of inputs, by name, and the dimensions of others that have the same name. A
// dimension below 0 stays open. Throws Error for an input that is not there, and for a shape that
// does not fit what the file says.
void fix_shapes(NetworkSource& source, const std::map<std::string, Shape>& shapes);

using Shapes = std::vector<Shape>;  // one per input

// How a network is compiled.
struct CompiledForm {
  int threads = 1;       // at most
  bool compact = false;  // less memory for weights, hardly less speed
  bool operator==(const CompiledForm&) const = default;
};

class Network {
 public:
  // Completes `config`: the largest batch, the sizes in which rows are computed, and what the
  // network takes and gives. Throws Error where file and configuration do not agree.
  Network(NetworkSource source, ModelConfig& config, int threads);

  // With the batch, which is -1, in front if there is one.
  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }
  const std::vector<std::string>& labels() const { return source_.labels; }
  // What columns mean to a network that was trained on a table; else none.
  const std::optional<data::TableSchema>& table() const { return source_.table; }
  // Rows that are computed together at most; 0: requests are computed one by one.
  int64_t max_batch() const { return max_batch_; }
  // Ascending; the first is 1.
  const std::vector<int64_t>& sizes() const { return sizes_; }
  bool takes_pictures() const;
  // Its outputs are boxes, labels and scores of one picture, which is stretched to the input's
  // size.
  bool finds_objects() const { return finds_objects_; }
  // f32[1, channels, height, width] of a network that takes pictures.
  Tensor input_of(const data::Image& picture) const;
  // Of one computation on all cores that it may have.
  int threads() const { return threads_; }
  // Its steps are too short for a second thread. Known once the first shape is compiled.
  bool is_small() const { return small_; }

  // Compiled if it is not there yet, which may take as long as loading did; only the last few
  // shapes that are not of `sizes()` are kept. Thread-safe.
  runtime::Executable executable(const Shapes& shapes, CompiledForm form);
  // The shapes of `rows` rows, of a network without open dimensions but the batch.
  Shapes shapes_of(int64_t rows) const;
  // Shapes come with requests.
  bool has_open_dims() const { return has_open_dims_; }
  // Something in it is a tensor of texts. Known once a shape is compiled.
  bool has_texts() const { return has_texts_; }
  // The shape of an output as clients see it.
  Shape seen_shape(size_t output, const Shape& shape) const;
  // Forgets compiled forms that are compact, or those that are not.
  void drop_compiled(bool compact);
  // Of the compiled form that has the most.
  int64_t constant_bytes() const;
  // No more shapes will be asked for: frees what only compiling needs.
  void drop_source();

 private:
  Graph build(const Shapes& shapes) const;
  std::optional<Graph> try_build(const Shapes& shapes) const;
  Shapes probe_shapes(int64_t batch) const;
  void probe(const ModelConfig& config);
  void probe_alone();
  void describe_open(const ModelConfig& config);
  bool names_say_batch() const;
  void check_types() const;
  void check_training() const;
  void prepare_detector(const Graph& graph);

  NetworkSource source_;
  std::shared_ptr<device::Device> device_;  // null: the processors
  kernels::Precision precision_;
  int threads_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> outputs_;
  int64_t max_batch_ = 0;
  std::vector<int64_t> sizes_ = {1};
  bool has_open_dims_ = false;
  std::atomic<bool> has_texts_{false};
  bool finds_objects_ = false;
  bool small_ = false;
  bool decodes_ = false;  // a detector whose file ends before that

  struct Compiled {
    Shapes shapes;
    CompiledForm form;  // as it was asked for
    runtime::Executable executable;
    bool kept = false;
  };
  mutable std::mutex mutex_;
  std::list<Compiled> compiled_;  // the last one used first
};

}  // namespace trainyard::serve
