// A network: one of the zoo, a file, a run, or a graph that a program built.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace trainyard::api {

// An input, output or state of a network.
struct Port {
  std::string name;
  TensorType type;  // of an output: dimensions are negative where only the data decides
};

struct ModelOptions {
  // A safetensors file or one that PyTorch wrote; empty: the weights that the model brings.
  std::string weights = {};
  std::optional<int64_t> batch = {};
  // By the name of the input, for files that leave dimensions open.
  std::map<std::string, Shape> shapes = {};
  // Networks of the zoo: classes, and height and width of the image.
  std::optional<int64_t> classes = {};
  std::optional<int64_t> image = {};
};

// What a layer holds and costs, for one pass of the whole batch.
struct LayerCost {
  std::string name;
  std::string op;    // "Input" for a graph input
  std::string kind;  // "convolution", "input" …
  Shape output;      // of its first output
  int64_t parameters = 0;
  int64_t macs = 0;
  int64_t flops = 0;
  int64_t bytes_moved = 0;
};

// Immutable and cheap to copy.
class Model {
 public:
  // `name` is a network of the zoo, an ONNX file or the directory of a run. Throws Error naming
  // what is wrong with it, with the nearest names.
  explicit Model(const std::string& name, const ModelOptions& options = {});
  // Throws Error listing what is wrong with the graph. Types of results may be left unknown: they
  // are inferred.
  explicit Model(Graph graph);

  // The same network for other shapes of its inputs, by name. Throws Error where it was built for
  // one batch alone.
  Model with_shapes(const std::map<std::string, Shape>& shapes) const;

  const Graph& graph() const { return *graph_; }
  std::vector<Port> inputs() const;
  std::vector<Port> outputs() const;
  // The graph's inputs, then its nodes in order.
  std::vector<LayerCost> layers() const;
  // Writes an ONNX file. Throws Error naming what ONNX does not have, Failure if it cannot be
  // written.
  void save(const std::filesystem::path& path) const;

 private:
  std::string name_;  // empty: from a graph
  ModelOptions options_;
  std::shared_ptr<const Graph> graph_;
};

// The networks of the zoo.
std::vector<std::string> model_names();

// What is wrong with an ONNX file, a line each; empty: nothing. Throws Error if there is no such
// file.
std::vector<std::string> check_model_file(const std::filesystem::path& path);

}  // namespace trainyard::api
