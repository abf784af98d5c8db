// Lists of tensors. Where a file uses them, it nearly always cuts a tensor into pieces and picks
// some of them: the list is known while importing, and no list is left in the graph.
#include "base/error.h"
#include "onnx_io/graph_importer.h"

namespace trainyard::onnx_io {

bool GraphImporter::add_sequence_node(const FileNode& node) {
  (void)node;
  return false;
}

}  // namespace trainyard::onnx_io
