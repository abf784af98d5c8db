// A graph reduced to the numbers that time depends on, per image, so that any batch is one
// multiplication away.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace trainyard::predict {

// kProduct: convolutions and matrix products, which have a compute side worth modeling.
// kTraffic: everything that is bound by memory. kView: costs nothing.
enum class Work : uint8_t { kProduct, kTraffic, kView };

// What an engine that fuses computes an element-wise operator or a normalization along with: the
// product or the normalization whose result nobody else uses.
enum class Chain : uint8_t { kNone, kProduct, kNorm };

// One node. Sizes are elements (not bytes) of one image unless they say otherwise.
struct OpProfile {
  std::string name;
  std::string op;
  std::string_view kind;  // ops::kind_name
  Work work = Work::kView;
  bool is_conv = false;
  double count = 1;  // operators like this one, in a merged profile

  double macs = 0;
  double flops = 0;
  double input = 0;
  double output = 0;
  double weights = 0;  // trainable elements, whatever the batch
  bool has_bias = false;
  bool data_gradient = true;  // false where nothing before it is trained
  Chain chain = Chain::kNone;
  double uses = 1;  // of the first output

  // The product rows x inner times inner x columns, in `groups` copies.
  double rows = 0;
  double columns = 0;
  double inner = 0;
  double groups = 1;
  double input_rows = 0;  // positions of the input: the rows of the data gradient
  int64_t kernel_h = 1, kernel_w = 1, stride = 1;
  double output_h = 1, output_w = 1;
  double scores = 0;  // of attention: one for each head, query and key

  // kTraffic: elements read and written, and kernels issued.
  double forward_inference = 0;
  double forward_training = 0;
  double backward = 0;
};

struct NetworkProfile {
  std::string name;
  std::vector<OpProfile> ops;
  double parameters = 0;         // trainable elements
  double parameter_tensors = 0;  // how many tensors they are in
  double input = 0;              // elements of one image
  double macs = 0;               // forward, per image
  // Bytes in fp32 of one image: values alive at the peak.
  double training_bytes = 0;
  double inference_bytes = 0;
  double weight_bytes = 0;
};

// `graph` must be sorted and have its types inferred. Any batch will do: the first dimension of its
// inputs, or the second of what recurrent layers read with time first. Throws Error if the inputs
// do not agree on it.
NetworkProfile profile_graph(const Graph& graph);

// Operators that cost the same stand once, with their count; what remains has no order. Much
// faster to evaluate, for fits and sweeps.
NetworkProfile merged(const NetworkProfile& profile);

// The same network with its grouped convolutions in one group each, as some frameworks have
// AlexNet.
NetworkProfile ungrouped(NetworkProfile profile);

}  // namespace trainyard::predict
