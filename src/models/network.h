// MODEL, as every command takes it: a name of the zoo, an .onnx file or the directory of a run,
// with the weights it brings or those of another file.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "models/onnx/metadata.h"
#include "models/zoo/model.h"

namespace trainyard::network {

struct Request {
  std::string model = {};
  std::string weights = {};  // as load_weights() reads them; empty: what the model brings
  // Files: batch and shapes by the name of the input, as onnx_io::ImportOptions has them.
  std::optional<int64_t> batch = {};
  std::map<std::string, Shape> shapes = {};
  // The zoo only.
  std::optional<int64_t> classes = {};
  std::optional<int64_t> image = {};
  std::optional<int64_t> length = {};
  std::optional<int64_t> rows = {};  // see models::ModelOptions
  std::optional<int64_t> vocabulary = {};
  int64_t end_of_text = -1;  // see models::ModelOptions
  models::TransformerSizes sizes = {};
  models::TransformerForm form = {};
  bool token_scores = false;
  bool span_scores = false;
  std::optional<double> width = {};
  bool auxiliary = false;
};

// Throws Error naming what is wrong with name, file, weights or flags, with the nearest names.
Graph load(const Request& request);

// A path to an .onnx file, a run directory or a folder of hugging_face.h, not a name of the zoo.
bool is_path(const std::string& model);

// The .onnx file that a path means: itself, or the model of a run directory. Throws Error if the
// run has none yet.
std::string model_file(const std::string& path);

// What MODEL's file says of itself beside the graph, and what the notes of its weights, if others
// are taken, add or say in its place. Empty for a network of the zoo with weights that say nothing.
onnx_io::Metadata metadata_of(const std::string& model, const std::string& weights = "");

// What to call MODEL in a heading: its name, or the file's or directory's without the folder.
std::string label(const std::string& model);

// Replaces the parameters of `graph` by the tensors of a safetensors file (weights of a run, or one
// of its checkpoints), which share the mapping of the file, or of a file that PyTorch wrote, whose
// names may be those of weight_names.h. Throws Error listing what is missing, surplus or of another
// shape.
void load_weights(Graph& graph, const std::string& path);

// The same for a network that continues from another: tensors of the file with the name of a
// parameter are taken, others left. Returns the names of the parameters that the file does not
// have, and of a detector's heads that have another shape there. Throws Error if another shape
// differs or nothing fits.
std::vector<std::string> load_matching_weights(Graph& graph, const std::string& path);

// Whether parameters are still to be drawn at random: such a network computes, but has learned
// nothing.
bool has_random_weights(const Graph& graph);

}  // namespace trainyard::network
