// The layers that the zoo's models are made of, on top of ops::Builder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "models/zoo/model.h"
#include "ops/builder.h"

namespace trainyard::models {

// Height and width; one number stands for both.
struct Extent {
  int64_t height;
  int64_t width;
  constexpr Extent(int64_t both) : height(both), width(both) {}
  constexpr Extent(int64_t h, int64_t w) : height(h), width(w) {}
};

struct ConvSpec {
  int64_t out;  // channels
  Extent kernel = 1;
  Extent stride = 1;
  Extent pad = 0;
  int64_t group = 1;
};

struct PoolSpec {
  Extent kernel;
  Extent stride;
  Extent pad = 0;
  bool ceil = false;           // a last, partial window counts
  bool pad_is_counted = true;  // in averages
};

// Every `step`-th index of [begin, end) along `axis`.
struct SliceSpec {
  int64_t axis;
  int64_t begin;
  int64_t end;
  int64_t step = 1;
};

// How convolutions start: by He's rule, which keeps activations (kIn) or gradients (kOut) of
// rectified layers steady, or by Glorot's, for layers that are linear around zero.
enum class FanMode : uint8_t { kIn, kOut, kBoth };

struct NetStyle {
  FanMode fan = FanMode::kIn;
  float norm_epsilon = 1e-5F;
  bool small_linear = false;  // linear layers start as tables do, as GPT-2's and BERT's
};

struct AttentionSpec {
  int64_t length;  // rows of one batch element
  int64_t heads;
  bool causal = false;   // each row sees itself and the rows before
  int64_t kv_heads = 0;  // 0: as many as heads
  ValueId mask = kNoValue;
};

// Where each token of a batch x length input stands.
struct Places {
  ValueId positions;  // i64, batch x length
  ValueId mask;       // bool, batch x 1 x length x length: of the same document; or kNoValue
};

struct ExpertSpec {
  int64_t experts;
  int64_t active;  // of them, for each row
  int64_t inner;   // hidden units of each
};

// Rows that went through experts, and how unevenly these were chosen: 1 if all alike.
struct ExpertRows {
  ValueId rows;
  ValueId balance;  // one number
};

// By position and pair of columns.
struct RotaryTables {
  ValueId cosines;
  ValueId sines;
};

struct NetOutput {
  ValueId value;
  std::string_view name;
};

// A network under construction. Layers are named as given, their parameters NAME.weight, NAME.bias
// and so on (torchvision's habit). Convolutions start as the style says, linear layers from
// Glorot's uniform distribution unless the style says otherwise, biases at zero, normalizations as
// the identity.
class Net {
 public:
  explicit Net(std::string_view name, NetStyle style = {})
      : graph_(std::string(name)), builder_(graph_), style_(style) {}

  // How the convolutions that follow start.
  void set_fan(FanMode fan) { style_.fan = fan; }

  ValueId image(const ModelOptions& options, int64_t channels = 3);
  ValueId tokens(const ModelOptions& options);
  ValueId row(const ModelOptions& options);
  int64_t channels(ValueId x) const { return builder_.shape(x)[1]; }
  int64_t extent(ValueId x, int64_t axis) const { return builder_.shape(x)[axis]; }

  // Convolutions: with bias, without, and without but followed by normalization.
  ValueId conv(ValueId x, const std::string& name, const ConvSpec& spec);
  ValueId conv_no_bias(ValueId x, const std::string& name, const ConvSpec& spec);
  ValueId conv_norm(ValueId x, const std::string& conv_name, const std::string& norm_name,
                    const ConvSpec& spec);
  // conv() and NAME.relu.
  ValueId conv_relu(ValueId x, const std::string& name, const ConvSpec& spec);
  // y = x * weight + bias for rows x.
  ValueId linear(ValueId x, const std::string& name, int64_t out);
  ValueId linear_no_bias(ValueId x, const std::string& name, int64_t out);
  // linear() whose result is added to what passes by, in a network of so many layers: it starts
  // smaller, so that sums do not grow with the layers.
  ValueId residual_linear(ValueId x, const std::string& name, int64_t out, int64_t layers);

  ValueId batch_norm(ValueId x, const std::string& name);
  // Over the last axis.
  ValueId layer_norm(ValueId x, const std::string& name);
  // A learned tensor that is not the weight of a layer: embeddings, class tokens.
  ValueId table(const std::string& name, Shape shape);
  // A factor for each channel of N x C x H x W, which starts small.
  ValueId layer_scale(ValueId x, const std::string& name, float start);
  // The first rows of a table, along the last axis but one.
  ValueId first_rows(ValueId table, const std::string& name, int64_t count);
  // The rows of a table that the tokens name.
  ValueId embed(ValueId table, ValueId tokens, const std::string& name);
  // Rows of queries, keys and values, each batch x length high, heads side by side.
  ValueId attention(ValueId q, ValueId k, ValueId v, const std::string& name,
                    const AttentionSpec& spec);
  // Positions from the first token of each document on, and who belongs together. Without an end of
  // texts, positions count from the first token of the row.
  Places places(ValueId tokens, int64_t end_of_text);
  ValueId rms_norm(ValueId x, const std::string& name);
  // Turns pairs of columns of each head by angles that grow with the position.
  ValueId rotate(ValueId x, const std::string& name, int64_t heads, const RotaryTables& tables,
                 ValueId positions);
  // For heads of `depth` columns, once for all layers. base = 0: 10,000.
  RotaryTables rotary_tables(int64_t length, int64_t depth, double base = 0);
  // Gated feed-forward parts, of which a router chooses the best few for each row and weights them
  // (Jiang et al. 2024, Mixtral). All are computed; those that were not chosen count nothing.
  ExpertRows experts(ValueId x, const std::string& name, const ExpertSpec& spec);
  // Three parts of equal width.
  std::vector<ValueId> three_parts(ValueId x, const std::string& name);
  // y = x * table^T, and a bias of this name if one is given: the table of embeddings used again.
  ValueId linear_by_table(ValueId x, ValueId table, const std::string& name,
                          const std::string& bias = "");
  // x * the mean of x over height and width, as two layers make a gate of it.
  ValueId squeeze_excite(ValueId x, const std::string& name, int64_t squeezed,
                         std::string_view activation, std::string_view gate);
  // Krizhevsky et al. 2012, section 3.3, whose alpha is not divided by the window.
  ValueId local_response_norm(ValueId x, const std::string& name, int64_t window, double k,
                              double alpha, double beta);

  ValueId relu(ValueId x, const std::string& name) { return apply("Relu", x, name); }
  ValueId relu6(ValueId x, const std::string& name);
  ValueId tanh(ValueId x, const std::string& name) { return apply("Tanh", x, name); }
  // Relu, HardSwish, Swish, Gelu: an operator without attributes.
  ValueId activate(ValueId x, std::string_view op, const std::string& name) {
    return apply(op, x, name);
  }
  ValueId gelu_by_tanh(ValueId x, const std::string& name);
  // The identity until somebody turns training on.
  ValueId dropout(ValueId x, const std::string& name, float ratio);

  ValueId max_pool(ValueId x, const std::string& name, const PoolSpec& spec);
  ValueId average_pool(ValueId x, const std::string& name, const PoolSpec& spec);
  // N x C x H x W to N x C x 1 x 1.
  ValueId global_average(ValueId x, const std::string& name) {
    return apply("GlobalAveragePool", x, name);
  }
  // To N x everything else.
  ValueId flatten(ValueId x, const std::string& name) { return apply("Flatten", x, name); }

  ValueId add(ValueId a, ValueId b, const std::string& name);
  ValueId concat(std::vector<ValueId> parts, const std::string& name, int64_t axis = 1);
  ValueId reshape(ValueId x, const std::string& name, const std::vector<int64_t>& target);
  ValueId transpose(ValueId x, const std::string& name, std::vector<int64_t> permutation);
  ValueId slice(ValueId x, const std::string& name, const std::vector<SliceSpec>& ranges);
  ValueId multiply(ValueId a, ValueId b, const std::string& name);
  // By one number.
  ValueId scale(ValueId x, const std::string& name, float factor);
  // Zeros before and after the rows of batch x rows x columns.
  ValueId pad_rows(ValueId x, const std::string& name, int64_t before, int64_t after);
  // Zeros before and after the channels.
  ValueId pad_channels(ValueId x, const std::string& name, int64_t before, int64_t after);

  // Names the graph's outputs and gives the graph away.
  Graph finish(const std::vector<NetOutput>& outputs);

 private:
  ValueId apply(std::string_view op, ValueId x, const std::string& name) {
    return builder_.add(op, {x}, {}, name);
  }
  ValueId linear_weight(ValueId x, const std::string& name, int64_t out);
  ValueId conv_weight(ValueId x, const std::string& name, const ConvSpec& spec);

  Graph graph_;
  ops::Builder builder_;
  NetStyle style_;
};

// `channels` * `width`, rounded to the nearest multiple of 8 and never more than 10 % below
// (Sandler et al.'s reference implementation).
int64_t scaled_channels(int64_t channels, double width);

}  // namespace trainyard::models
