// BERT with a classifier on its pooled output; one segment, no padding.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kBertVocabulary = 30522;
constexpr int64_t kBertLongest = 512;
constexpr int64_t kBertSegments = 2;
constexpr int64_t kBertLayers = 12;
constexpr int64_t kBertHeads = 12;
constexpr int64_t kBertHidden = 768;
constexpr int64_t kBertInner = 3072;

ValueId embed_words(Net& net, ValueId tokens, int64_t length) {
  const std::string name = "embeddings.";
  const ValueId words =
      net.embed(net.table(name + "word_embeddings.weight", {kBertVocabulary, kBertHidden}), tokens,
                name + "words");
  const ValueId places =
      net.first_rows(net.table(name + "position_embeddings.weight", {kBertLongest, kBertHidden}),
                     name + "places", length);
  const ValueId segment =
      net.first_rows(net.table(name + "token_type_embeddings.weight", {kBertSegments, kBertHidden}),
                     name + "segment", 1);
  const ValueId beside = net.add(places, segment, name + "beside");
  ValueId x = net.add(words, beside, name + "sum");
  x = net.reshape(x, name + "rows", {-1, kBertHidden});
  return net.dropout(net.layer_norm(x, name + "LayerNorm"), name + "dropout", 0.1F);
}

ValueId bert_layer(Net& net, ValueId x, const std::string& name, int64_t length) {
  const std::string attention = name + ".attention.self";
  const auto part = [&](const char* which) {
    return net.linear(x, attention + which, kBertHidden);
  };
  ValueId y = net.attention(part(".query"), part(".key"), part(".value"), attention,
                            {.length = length, .heads = kBertHeads});
  const std::string output = name + ".attention.output";
  y = net.dropout(net.linear(y, output + ".dense", kBertHidden), output + ".dropout", 0.1F);
  x = net.layer_norm(net.add(y, x, output + ".add"), output + ".LayerNorm");
  y = net.activate(net.linear(x, name + ".intermediate.dense", kBertInner), "Gelu",
                   name + ".intermediate.gelu");
  y = net.dropout(net.linear(y, name + ".output.dense", kBertHidden), name + ".output.dropout",
                  0.1F);
  return net.layer_norm(net.add(y, x, name + ".output.add"), name + ".output.LayerNorm");
}

Graph build_bert(const ModelOptions& options) {
  Net net("bert-base", {.norm_epsilon = 1e-12F});
  ValueId x = embed_words(net, net.tokens(options), options.length);
  for (int64_t i = 0; i < kBertLayers; ++i) {
    x = bert_layer(net, x, "encoder.layer." + std::to_string(i), options.length);
  }
  x = net.reshape(x, "encoder.out", {-1, options.length, kBertHidden});
  x = net.slice(x, "pooler.first", {{.axis = 1, .begin = 0, .end = 1}});
  x = net.flatten(x, "pooler.flatten");
  x = net.tanh(net.linear(x, "pooler.dense", kBertHidden), "pooler.tanh");
  x = net.dropout(x, "dropout", 0.1F);
  return net.finish({{net.linear(x, "classifier", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kBertBase = {
    .name = "bert-base",
    .summary = "BERT base, uncased vocabulary, classifier on the pooled output; --length tokens",
    .paper = {.authors = "Devlin, Chang, Lee, Toutanova",
              .title = "BERT: Pre-training of Deep Bidirectional Transformers for Language "
                       "Understanding",
              .where = "NAACL 2019, arXiv:1810.04805"},
    .channels = 0,
    .image = 0,
    .classes = 2,
    .length = 128,
    .longest = kBertLongest,
    .vocabulary = kBertVocabulary,
    .build = build_bert};

}  // namespace trainyard::models
