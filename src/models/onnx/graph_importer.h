// One graph of a file into our graph: the model's own, or the body of a control-flow node, which
// sees the values around it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "models/onnx/import_node.h"
#include "models/onnx/model_reader.h"

namespace trainyard::onnx_io {

// What all graphs of one file share.
struct ImportBudget {
  int64_t nodes = 0;  // imported so far, those of bodies each time they are looked at
  int depth = 0;      // of the body at hand
  bool exceeded = false;
};

class GraphImporter {
 public:
  // `outer` is the importer of the graph around a body, null for the model's own; it and `file`
  // must outlive this.
  GraphImporter(const FileGraph& file, ImportBudget& budget, GraphImporter* outer = nullptr)
      : file_(file), budget_(budget), outer_(outer), graph_(file.name), emitter_(graph_) {}
  GraphImporter(const GraphImporter&) = delete;
  GraphImporter& operator=(const GraphImporter&) = delete;

  // The graph with inputs of these types, one for each input of the file. Once. Throws Error naming
  // node or value.
  Graph run(const std::vector<TensorType>& input_types);

  // Values of the outer graph that a body reads. The body's graph has them as further inputs, in
  // this order.
  const std::vector<ValueId>& captures() const { return captures_; }

 private:
  void reserve_names(const FileGraph& file);
  void add_inputs(const std::vector<TensorType>& types);
  void add_initializers(const FileGraph& file);
  void add_nodes(const FileGraph& file);
  std::vector<size_t> node_order(const FileGraph& file);
  void add_node(const FileNode& node);
  void add_plain_node(const FileNode& node, const std::string& where);
  void claim(const std::string& name, std::string_view what) const;
  // The value of a name, here or around; kNoValue if there is none.
  ValueId find(const std::string& name);
  bool is_visible(const std::string& name) const;
  bool add_constant(const FileNode& node);
  bool add_filled(const FileNode& node);
  void set_outputs();

  // Gradient of ai.onnx.preview.training (gradient_node.cpp).
  bool add_gradient(const FileNode& node);

  // Control flow (control_flow.cpp).
  bool add_control_flow(const FileNode& node);
  void add_if(const FileNode& node);
  void add_branch(const FileNode& node, const FileGraph& branch);
  void add_loop(const FileNode& node);
  void add_scan(const FileNode& node);
  Graph import_body(const FileGraph& body, const std::vector<TensorType>& types,
                    std::vector<ValueId>& captures);
  void add_with_body(const FileNode& node, std::vector<ValueId> inputs,
                     std::vector<std::pair<std::string, Graph>> bodies, Attributes attributes);

  const FileGraph& file_;
  ImportBudget& budget_;
  GraphImporter* outer_;
  Graph graph_;
  Emitter emitter_;
  // Initializers that only ConstantOfShape reads: they vanish with it.
  std::unordered_map<std::string, std::shared_ptr<const Tensor>> loose_;
  std::vector<ValueId> captures_;
};

// The names that a graph reads from around it, those of its bodies included.
std::unordered_set<std::string> free_names(const FileGraph& graph);

}  // namespace trainyard::onnx_io
