// A node in the words of the plugin's interface.
#pragma once

#include <string>
#include <vector>

#include "engine/device/torch_interface.h"
#include "ir/node_view.h"

namespace trainyard::kernels::torch {

// Points into the node and into itself: neither may move while it is used.
//
// Besides the node's own attributes it has what the program resolved: `window_…` of sliding
// windows, `slice_…` of ranges, `scalar_alpha` and `scalar_beta` of functions of one number.
class NodeMessage {
 public:
  explicit NodeMessage(const NodeView& node);
  NodeMessage(const NodeMessage&) = delete;
  NodeMessage& operator=(const NodeMessage&) = delete;

  const TorchNode& node() const { return message_; }

 private:
  struct Numbers {
    std::string name;
    std::vector<int64_t> ints;
    std::vector<float> floats;
    std::string text;
  };

  void add_resolved(const NodeView& node);
  void add_ints(std::string name, std::vector<int64_t> values);
  void add_float(std::string name, double value);

  std::vector<Numbers> kept_;
  std::vector<TorchOperand> inputs_;
  std::vector<TorchOperand> outputs_;
  std::vector<TorchAttribute> attributes_;
  TorchNode message_ = {};
};

// "" if the interface has words for all of it.
std::string_view refuses_to_tell(const NodeView& node);

}  // namespace trainyard::kernels::torch
