// Vision Transformer as torchvision has it: patches of 16 x 16, a class token, encoder layers that
// normalize before attention and MLP.
#include "models/zoo/layers.h"

namespace trainyard::models {
namespace {

constexpr int64_t kVitPatch = 16;
constexpr int64_t kVitLayers = 12;
constexpr int64_t kVitHeads = 12;
constexpr int64_t kVitHidden = 768;
constexpr int64_t kVitInner = 3072;

// Patches as rows of N x patches x hidden, the class token before them, with their positions.
ValueId embed_patches(Net& net, ValueId image) {
  ValueId x =
      net.conv(image, "conv_proj", {.out = kVitHidden, .kernel = kVitPatch, .stride = kVitPatch});
  const int64_t patches = net.extent(x, 2) * net.extent(x, 3);
  x = net.reshape(x, "patches", {0, kVitHidden, -1});
  x = net.transpose(x, "patches.rows", {0, 2, 1});
  // The token is added to a row of zeros, so that the batch may be of any size.
  x = net.pad_rows(x, "encoder.rows", 1, 0);
  ValueId token = net.table("class_token.weight", {1, 1, kVitHidden});
  token =
      net.pad_rows(net.first_rows(token, "class_token.first", 1), "class_token.row", 0, patches);
  ValueId places = net.table("encoder.pos_embedding", {1, patches + 1, kVitHidden});
  places = net.first_rows(places, "encoder.positions", patches + 1);
  places = net.add(places, token, "encoder.places");
  return net.add(x, places, "encoder.embedded");
}

ValueId vit_layer(Net& net, ValueId x, const std::string& name, int64_t length) {
  const std::string attention = name + ".self_attention";
  ValueId y = net.layer_norm(x, name + ".ln_1");
  y = net.linear(y, attention + ".in_proj", 3 * kVitHidden);
  const std::vector<ValueId> parts = net.three_parts(y, attention + ".split");
  y = net.attention(parts[0], parts[1], parts[2], attention,
                    {.length = length, .heads = kVitHeads});
  x = net.add(x, net.linear(y, attention + ".out_proj", kVitHidden), name + ".add_1");
  y = net.layer_norm(x, name + ".ln_2");
  y = net.activate(net.linear(y, name + ".mlp.0", kVitInner), "Gelu", name + ".mlp.1");
  return net.add(x, net.linear(y, name + ".mlp.3", kVitHidden), name + ".add_2");
}

Graph build_vit(const ModelOptions& options) {
  Net net("vit_b_16", {.fan = FanMode::kIn, .norm_epsilon = 1e-6F});
  ValueId x = embed_patches(net, net.image(options));
  const int64_t length = net.extent(x, 1);
  x = net.reshape(x, "encoder.tokens", {-1, kVitHidden});
  for (int64_t i = 0; i < kVitLayers; ++i) {
    x = vit_layer(net, x, "encoder.layers.encoder_layer_" + std::to_string(i), length);
  }
  x = net.layer_norm(x, "encoder.ln");
  x = net.reshape(x, "encoder.out", {-1, length, kVitHidden});
  x = net.slice(x, "class_token.out", {{.axis = 1, .begin = 0, .end = 1}});
  x = net.flatten(x, "flatten");
  return net.finish({{net.linear(x, "heads.head", options.classes), "logits"}});
}

}  // namespace

extern const ModelDef kVitB16 = {
    .name = "vit_b_16",
    .summary = "Vision Transformer, base, patches of 16; images of multiples of 16",
    .paper = {.authors = "Dosovitskiy, Beyer, Kolesnikov, Weissenborn, Zhai, Unterthiner, "
                         "Dehghani, Minderer, Heigold, Gelly, Uszkoreit, Houlsby",
              .title = "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale",
              .where = "ICLR 2021, arXiv:2010.11929"},
    .smallest_image = 16,
    .build = build_vit};

}  // namespace trainyard::models
