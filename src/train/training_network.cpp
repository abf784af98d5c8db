#include "train/training_network.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/augment.h"
#include "models/hugging_face.h"
#include "models/network.h"
#include "models/table_input.h"
#include "models/zoo/model.h"
#include "train/objective.h"

namespace trainyard::train {
namespace {

// Scores of other classes than the data has cannot be trained; a new head is another network.
void require_head(const Graph& graph, const TrainConfig& config, int64_t classes) {
  // A detector's scores are its second output.
  const ValueId named = graph.find_value("scores");
  const ValueId head = named.valid() && graph.is_output(named) ? named : graph.outputs()[0];
  const Shape& scores = graph.value(head).type.shape;
  const int64_t found = scores.rank() == 0 ? 0 : scores[scores.rank() - 1];
  TY_REQUIRE(
      found == classes,
      "{} has {} outputs, and {} are asked for ({}): a file keeps its head. 'transfer' gives "
      "it a new one; or train a network of the zoo, or export one with {} outputs",
      config.model, found, classes,
      config.classes > 0 ? "`classes`" : "by the data's classes or its one number", classes);
}

// A beginning that fits nothing is a slip: what was to be frozen would be trained.
void require_matches(const char* setting, const std::string& prefixes,
                     const std::vector<std::string>& names) {
  if (prefixes.empty()) return;
  for (const std::string& prefix : split(prefixes, ',')) {
    const bool found = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with(prefix);
    });
    TY_REQUIRE(found && !prefix.empty(), "{}: no name begins with '{}'.{}", setting, prefix,
               did_you_mean(prefix, names));
  }
}

void check_names(const TrainConfig& config, const Graph& graph) {
  std::vector<std::string> parameters;
  for (const ValueId id : graph.initializers()) parameters.push_back(graph.value(id).name);
  require_matches("freeze", config.freeze, parameters);
  std::vector<std::string> nodes;
  for (const NodeId id : graph.node_ids()) nodes.push_back(graph.node(id).name);
  require_matches("recompute", config.recompute, nodes);
}

// A network of the zoo has the vocabulary and the length of the data. With classes, rows are to be
// classified.
Graph load_language_model(const TrainConfig& config, const data::TokenFacts& facts,
                          std::optional<int64_t> classes, bool spans, int64_t batch) {
  network::Request request{.model = config.model, .batch = batch};
  if (!network::is_path(config.model)) {
    request.length = facts.length;
    // Beyond the text's own is the token that hides others.
    request.vocabulary = facts.vocabulary + (config.loss == kMaskedToken ? 1 : 0);
    request.end_of_text = facts.end_of_text;
    const models::ModelDef* def = models::find_model(config.model);
    request.span_scores = spans;
    request.token_scores = !classes && !spans && def != nullptr && def->has_token_scores;
    if (classes) request.classes = *classes;
    request.sizes = {.layers = config.layers,
                     .hidden = config.hidden,
                     .heads = config.heads,
                     .kv_heads = config.kv_heads,
                     .inner = config.inner,
                     .experts = config.experts,
                     .active = config.active};
    request.auxiliary = def != nullptr && def->has_auxiliary && config.auxiliary_weight > 0;
    return network::load(request);
  }
  if (network::is_hugging_face(config.model)) request.length = facts.length;
  Graph graph = network::load(request);
  if (classes) {
    require_head(graph, config, *classes);
    return graph;
  }
  const Shape& scores = graph.value(graph.outputs()[0]).type.shape;
  TY_REQUIRE(spans || (scores.rank() == 3 && scores[2] >= facts.vocabulary),
             "{} gives scores of shape {}, and the data has a vocabulary of {}: expected batch x "
             "length x as many tokens or more",
             config.model, scores.to_string(), facts.vocabulary);
  return graph;
}

// The preparation of rows becomes a part of the network, unless its file has it already.
Graph load_table_network(const TrainConfig& config, const data::Dataset& training, int64_t batch) {
  const data::TableSchema& schema = *training.table();
  const int64_t known = training.num_classes();
  const int64_t outputs = known == 0 ? 1 : config.classes > 0 ? config.classes : known;
  TY_REQUIRE(outputs >= known, "classes is {}, but the data has {}", outputs, known);
  network::Request request{.model = config.model, .batch = batch};
  const bool file = network::is_path(config.model);
  if (!file) {
    request.rows = schema.width();
    request.classes = outputs;
    request.width = config.width;
  }
  Graph graph = network::load(request);
  if (file) require_head(graph, config, outputs);
  const bool prepared = file && network::table_of(network::metadata_of(config.model)).has_value();
  const int64_t numbers = prepared ? schema.columns_count() : schema.width();
  const Shape& input = graph.value(graph.inputs()[0]).type.shape;
  TY_REQUIRE(graph.inputs().size() == 1 && input == (Shape{batch, numbers}),
             "{} takes {} {}, but a row of the data becomes {} numbers (a category one for each of "
             "its values): expected one input of {} x {}",
             config.model, graph.inputs().size() == 1 ? "an input of" : "several inputs, the first",
             input.to_string(), numbers, batch, numbers);
  if (!prepared) network::add_table(graph, schema);
  return graph;
}

Graph load_network(const TrainConfig& config, const data::Dataset& training, int64_t batch) {
  if (training.tokens()) {
    const bool classifies = training.target_kind() == data::TargetKind::kClass;
    const int64_t own = config.classes > 0 ? config.classes : training.num_classes();
    return load_language_model(config, *training.tokens(),
                               classifies ? std::optional(own) : std::nullopt,
                               training.target_kind() == data::TargetKind::kSpan, batch);
  }
  if (training.table()) return load_table_network(config, training, batch);
  const data::PictureShape picture = data::Augmentations(config.augment, training).output();
  // Background is a class of detectors.
  const int64_t known =
      training.num_classes() + (training.target_kind() == data::TargetKind::kBoxes ? 1 : 0);
  const int64_t classes = config.classes > 0 ? config.classes : known;
  TY_REQUIRE(classes >= known, "classes is {}, but the data has {}", classes, known);
  network::Request request{.model = config.model, .batch = batch};
  if (network::is_path(config.model)) {
    Graph graph = network::load(request);
    require_head(graph, config, classes);
    return graph;
  }
  if (const models::ModelDef* def = models::find_model(config.model)) {
    const int64_t image = config.image > 0 ? config.image : picture.height;
    if (image != def->image) request.image = image;
    request.classes = classes;
    request.width = config.width;
    request.auxiliary = def->has_auxiliary && config.auxiliary_weight > 0;
  }
  return network::load(request);
}

void set_dropout(Graph& graph, double ratio) {
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    if (node.op != "Dropout") continue;
    const bool has_ratio = node.inputs.size() > 1 && node.inputs[1].valid() &&
                           graph.value(node.inputs[1]).type.dtype == DType::kF32;
    TY_REQUIRE(has_ratio, "dropout: '{}' has no ratio that could be changed", node.name);
    Value& value = graph.mutable_value(node.inputs[1]);
    Tensor changed(value.type.dtype, value.type.shape);
    changed.values<float>()[0] = static_cast<float>(ratio);
    value.constant = std::make_shared<const Tensor>(std::move(changed));
  }
}

}  // namespace

Graph build_training_network(const TrainConfig& config, const data::Dataset& training,
                             int64_t batch) {
  Graph graph = load_network(config, training, batch);
  check_names(config, graph);
  if (config.dropout >= 0) set_dropout(graph, config.dropout);
  return graph;
}

}  // namespace trainyard::train
