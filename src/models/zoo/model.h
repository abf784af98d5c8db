// The built-in networks: each a function from a few options to a graph.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace trainyard::models {

// Of networks that read tokens. 0 stands for what the model has.
struct TransformerSizes {
  int64_t layers = 0;
  int64_t hidden = 0;    // channels of each token
  int64_t heads = 0;     // of queries; their width is hidden / heads
  int64_t kv_heads = 0;  // of keys and values; divides heads
  int64_t inner = 0;     // hidden units of the feed-forward part
  int64_t experts = 0;   // feed-forward parts side by side, of models that have several
  int64_t active = 0;    // of them, for each token

  bool operator==(const TransformerSizes&) const = default;
};

// What files of others choose beside the sizes. 0 stands for what the model has.
struct TransformerForm {
  int64_t positions = 0;   // rows of a table of positions
  double rotary_base = 0;  // how slowly rotary positions turn
  double norm_epsilon = 0;
  bool tied = false;    // the scores are by the table of embeddings
  double dropout = -1;  // below 0: the model's own

  bool operator==(const TransformerForm&) const = default;
};

// 0 stands for what the paper has. A model refuses an option that it does not honor.
struct ModelOptions {
  int64_t batch = 1;
  int64_t classes = 0;
  int64_t image = 0;       // height and width of the input
  int64_t length = 0;      // tokens of the input
  int64_t rows = 0;        // numbers of a row of the input, in place of an image
  int64_t vocabulary = 0;  // tokens there are
  // The token that opens a document, whose tokens see nothing before it and count positions from
  // it; -1: the input is one text.
  int64_t end_of_text = -1;
  TransformerSizes sizes = {};
  TransformerForm form = {};
  bool token_scores = false;  // scores of tokens at each place, not of classes
  bool span_scores = false;   // of each place as the first and as the last of an answer
  double width = 1.0;         // multiplies the channels (or hidden units)
  bool auxiliary = false;     // with the classifiers that only training uses, as further outputs
};

struct Paper {
  std::string_view authors;  // family names with commas
  std::string_view title;
  std::string_view where;  // venue and year, then arXiv number
};

// Only string views, numbers and a function pointer, so that the table is constant-initialized.
// The graph has one input, "image" (f32, N x C x H x W) or, of a model with a length, "tokens"
// (i64, N x length), or, where rows are asked for, "row" (f32, N x rows), and unless the summary
// says otherwise one output, "logits" (N x classes, before softmax).
using BuildFunction = Graph (*)(const ModelOptions&);

struct ModelDef {
  std::string_view name;
  std::string_view summary;
  Paper paper;
  int64_t channels = 3;
  int64_t image = 224;
  int64_t classes = 1000;  // 0: there is no classifier
  // Tokens of the input and the most there can be; 0: the input is an image.
  int64_t length = 0;
  int64_t longest = 0;
  int64_t vocabulary = 0;       // tokens are below
  TransformerSizes sizes = {};  // without layers: they cannot be chosen
  // Without auxiliary classifiers, which may need larger ones. 0: `image` is the only size.
  int64_t smallest_image = 0;
  bool has_width = false;
  bool takes_rows = false;        // of a table, if asked for
  bool has_token_scores = false;  // besides those of classes; and of spans
  bool has_auxiliary = false;
  // Called by build_model() only, with every option checked and filled in.
  BuildFunction build = nullptr;
};

// Null if there is no such model.
const ModelDef* find_model(std::string_view name);
// The model's input without its batch dimension.
Shape input_shape(const ModelDef& model);
std::span<const ModelDef* const> all_models();

// Throws Error if there is no such model (with the nearest names), or if it does not honor an
// option or cannot take its value.
Graph build_model(std::string_view name, const ModelOptions& options = {});

}  // namespace trainyard::models
