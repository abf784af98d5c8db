// BERT with a classifier on its pooled output, or with scores of tokens or spans; one segment, no
// padding.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kBertVocabulary = 30522;
constexpr int64_t kBertLongest = 512;
constexpr int64_t kBertSegments = 2;

ValueId embed_words(Net& net, ValueId table, ValueId tokens, int64_t length, int64_t hidden) {
  const std::string name = "embeddings.";
  const ValueId words = net.embed(table, tokens, name + "words");
  const ValueId places =
      net.first_rows(net.table(name + "position_embeddings.weight", {kBertLongest, hidden}),
                     name + "places", length);
  const ValueId segment =
      net.first_rows(net.table(name + "token_type_embeddings.weight", {kBertSegments, hidden}),
                     name + "segment", 1);
  const ValueId beside = net.add(places, segment, name + "beside");
  ValueId x = net.add(words, beside, name + "sum");
  x = net.reshape(x, name + "rows", {-1, hidden});
  return net.dropout(net.layer_norm(x, name + "LayerNorm"), name + "dropout", 0.1F);
}

ValueId bert_layer(Net& net, ValueId x, const std::string& name, int64_t length,
                   const TransformerSizes& sizes) {
  const int64_t hidden = sizes.hidden;
  const std::string attention = name + ".attention.self";
  const auto part = [&](const char* which) { return net.linear(x, attention + which, hidden); };
  ValueId y = net.attention(part(".query"), part(".key"), part(".value"), attention,
                            {.length = length, .heads = sizes.heads});
  const std::string output = name + ".attention.output";
  y = net.dropout(net.linear(y, output + ".dense", hidden), output + ".dropout", 0.1F);
  x = net.layer_norm(net.add(y, x, output + ".add"), output + ".LayerNorm");
  y = net.activate(net.linear(x, name + ".intermediate.dense", sizes.inner), "Gelu",
                   name + ".intermediate.gelu");
  y = net.dropout(net.linear(y, name + ".output.dense", hidden), name + ".output.dropout", 0.1F);
  return net.layer_norm(net.add(y, x, name + ".output.add"), name + ".output.LayerNorm");
}

// Scores of tokens by the table of embeddings, a layer behind the last.
ValueId token_scores(Net& net, ValueId x, ValueId table, const ModelOptions& options) {
  const std::string name = "cls.predictions.";
  x = net.activate(net.linear(x, name + "transform.dense", options.sizes.hidden), "Gelu",
                   name + "transform.gelu");
  x = net.layer_norm(x, name + "transform.LayerNorm");
  x = net.linear_by_table(x, table, name + "decoder", name + "bias");
  return net.reshape(x, name + "out", {-1, options.length, options.vocabulary});
}

Graph build_bert(const ModelOptions& options, std::string_view name) {
  const int64_t hidden = options.sizes.hidden;
  Net net(name, {.norm_epsilon = 1e-12F, .small_linear = true});
  const ValueId table =
      net.table("embeddings.word_embeddings.weight", {options.vocabulary, hidden});
  ValueId x = embed_words(net, table, net.tokens(options), options.length, hidden);
  for (int64_t i = 0; i < options.sizes.layers; ++i) {
    x = bert_layer(net, x, "encoder.layer." + std::to_string(i), options.length, options.sizes);
  }
  if (options.token_scores) return net.finish({{token_scores(net, x, table, options), "logits"}});
  if (options.span_scores) {
    x = net.linear(x, "qa_outputs", 2);
    return net.finish({{net.reshape(x, "qa_outputs.out", {-1, options.length, 2}), "logits"}});
  }
  x = net.reshape(x, "encoder.out", {-1, options.length, hidden});
  x = net.slice(x, "pooler.first", {{.axis = 1, .begin = 0, .end = 1}});
  x = net.flatten(x, "pooler.flatten");
  x = net.tanh(net.linear(x, "pooler.dense", hidden), "pooler.tanh");
  x = net.dropout(x, "dropout", 0.1F);
  return net.finish({{net.linear(x, "classifier", options.classes), "logits"}});
}

constexpr Paper kBertPaper = {
    .authors = "Devlin, Chang, Lee, Toutanova",
    .title = "BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding",
    .where = "NAACL 2019, arXiv:1810.04805"};
constexpr Paper kSmallBertPaper = {
    .authors = "Turc, Chang, Lee, Toutanova",
    .title = "Well-Read Students Learn Better: On the Importance of Pre-training Compact Models",
    .where = "arXiv:1908.08962"};

struct BertForm {
  std::string_view name;
  std::string_view summary;
  Paper paper;
  int64_t layers;
  int64_t hidden;
};

constexpr BertForm kForms[] = {
    {"bert-tiny", "BERT of 2 layers and 128 channels; else as bert-base", kSmallBertPaper, 2, 128},
    {"bert-mini", "BERT of 4 layers and 256 channels; else as bert-base", kSmallBertPaper, 4, 256},
    {"bert-small", "BERT of 4 layers and 512 channels; else as bert-base", kSmallBertPaper, 4, 512},
    {"bert-medium", "BERT of 8 layers and 512 channels; else as bert-base", kSmallBertPaper, 8,
     512},
    {"bert-base", "BERT base, uncased vocabulary, classifier on the pooled output; `length` tokens",
     kBertPaper, 12, 768},
    {"bert-large", "BERT of 24 layers and 1024 channels; else as bert-base", kBertPaper, 24, 1024},
};

// Heads have 64 columns.
template <size_t kForm>
constexpr ModelDef bert_of() {
  constexpr const BertForm& form = kForms[kForm];
  return {
      .name = form.name,
      .summary = form.summary,
      .paper = form.paper,
      .channels = 0,
      .image = 0,
      .classes = 2,
      .length = 128,
      .longest = kBertLongest,
      .vocabulary = kBertVocabulary,
      .sizes = {.layers = form.layers,
                .hidden = form.hidden,
                .heads = form.hidden / 64,
                .kv_heads = form.hidden / 64,
                .inner = 4 * form.hidden},
      .has_token_scores = true,
      .build = [](const ModelOptions& options) { return build_bert(options, kForms[kForm].name); }};
}

}  // namespace

extern const ModelDef kBertTiny = bert_of<0>();
extern const ModelDef kBertMini = bert_of<1>();
extern const ModelDef kBertSmall = bert_of<2>();
extern const ModelDef kBertMedium = bert_of<3>();
extern const ModelDef kBertBase = bert_of<4>();
extern const ModelDef kBertLarge = bert_of<5>();

}  // namespace trainyard::models
