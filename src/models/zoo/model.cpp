#include "models/zoo/model.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::models {

#define MODEL(name) extern const ModelDef k##name;
#include "models/zoo/model_list.def"
#undef MODEL

namespace {

constexpr const ModelDef* kTable[] = {
#define MODEL(name) &k##name,
#include "models/zoo/model_list.def"
#undef MODEL
};

// Within these no count of any model leaves 64 bits.
constexpr int64_t kLargestBatch = 65536;
constexpr int64_t kLargestImage = 8192;
constexpr int64_t kLargestClasses = 1'000'000;
constexpr int64_t kLargestVocabulary = int64_t{1} << 24;
constexpr TransformerSizes kLargestSizes = {.layers = 512,
                                            .hidden = 65536,
                                            .heads = 1024,
                                            .kv_heads = 1024,
                                            .inner = 1 << 20,
                                            .experts = 1024,
                                            .active = 1024};
constexpr double kSmallestWidth = 0.01;
constexpr double kLargestWidth = 8.0;

const ModelDef& model_of(std::string_view name) {
  const ModelDef* model = find_model(name);
  if (model == nullptr) {
    std::vector<std::string> names;
    for (const ModelDef* known : kTable) names.emplace_back(known->name);
    throw_error("there is no model '{}'.{} 'trainyard models' lists all {}.", name,
                did_you_mean(name, names), names.size());
  }
  return *model;
}

int64_t resolve_classes(const ModelDef& model, int64_t wanted) {
  if (wanted == 0) return model.classes;
  TY_REQUIRE(model.classes != 0, "{} has no classifier, so it takes no number of classes",
             model.name);
  TY_REQUIRE(1 <= wanted && wanted <= kLargestClasses,
             "{}: {} classes are not possible, expected 1 to {}", model.name, wanted,
             kLargestClasses);
  return wanted;
}

int64_t resolve_length(const ModelDef& model, int64_t wanted) {
  if (wanted == 0) return model.length;
  TY_REQUIRE(model.length != 0, "{} reads images, so it takes no length of a text; gpt-nano does",
             model.name);
  TY_REQUIRE(1 <= wanted && wanted <= model.longest,
             "{}: texts of {} tokens are not possible, expected 1 to {}", model.name, wanted,
             model.longest);
  return wanted;
}

int64_t resolve_image(const ModelDef& model, int64_t wanted) {
  TY_REQUIRE(model.length == 0 || wanted == 0, "{} reads tokens, so it takes no size of an image",
             model.name);
  if (wanted == 0 || wanted == model.image) return model.image;
  TY_REQUIRE(model.smallest_image != 0, "{} takes images of {}x{} only, not {}x{}", model.name,
             model.image, model.image, wanted, wanted);
  TY_REQUIRE(model.smallest_image <= wanted && wanted <= kLargestImage,
             "{}: images of {}x{} are not possible, expected a size from {} to {}", model.name,
             wanted, wanted, model.smallest_image, kLargestImage);
  return wanted;
}

int64_t resolve_vocabulary(const ModelDef& model, int64_t wanted) {
  if (wanted == 0) return model.vocabulary;
  TY_REQUIRE(model.length != 0, "{} reads images, so it takes no vocabulary", model.name);
  TY_REQUIRE(1 <= wanted && wanted <= kLargestVocabulary,
             "{}: a vocabulary of {} tokens is not possible, expected 1 to {}", model.name, wanted,
             kLargestVocabulary);
  return wanted;
}

// What is not asked for keeps its proportion to the hidden channels.
TransformerSizes resolve_sizes(const ModelDef& model, const TransformerSizes& wanted) {
  if (wanted == TransformerSizes{}) return model.sizes;
  const TransformerSizes& usual = model.sizes;
  TY_REQUIRE(
      usual.layers != 0,
      "{} has one size: layers, hidden, heads, kv_heads, inner, experts and active cannot be "
      "chosen",
      model.name);
  TY_REQUIRE(usual.experts != 0 || (wanted.experts == 0 && wanted.active == 0),
             "{} has no experts; llama-moe does", model.name);
  const auto pick = [&](const char* what, int64_t given, int64_t otherwise, int64_t most) {
    const int64_t size = given == 0 ? otherwise : given;
    TY_REQUIRE(1 <= size && size <= most, "{}: {} is {}, expected 1 to {}", model.name, what, size,
               most);
    return size;
  };
  TransformerSizes sizes;
  sizes.layers = pick("layers", wanted.layers, usual.layers, kLargestSizes.layers);
  sizes.hidden = pick("hidden", wanted.hidden, usual.hidden, kLargestSizes.hidden);
  const int64_t depth = usual.hidden / usual.heads;
  sizes.heads =
      pick("heads", wanted.heads, std::max<int64_t>(1, sizes.hidden / depth), kLargestSizes.heads);
  TY_REQUIRE(sizes.hidden % sizes.heads == 0, "{}: {} hidden channels cannot be cut into {} heads",
             model.name, sizes.hidden, sizes.heads);
  const bool fits = sizes.heads % usual.kv_heads == 0 && usual.kv_heads != usual.heads;
  sizes.kv_heads = pick("kv_heads", wanted.kv_heads, fits ? usual.kv_heads : sizes.heads,
                        kLargestSizes.kv_heads);
  TY_REQUIRE(sizes.heads % sizes.kv_heads == 0,
             "{}: {} heads cannot share {} heads of keys and values", model.name, sizes.heads,
             sizes.kv_heads);
  sizes.inner =
      pick("inner", wanted.inner, sizes.hidden * usual.inner / usual.hidden, kLargestSizes.inner);
  if (usual.experts == 0) return sizes;
  sizes.experts = pick("experts", wanted.experts, usual.experts, kLargestSizes.experts);
  sizes.active =
      pick("active", wanted.active, std::min(usual.active, sizes.experts), sizes.experts);
  return sizes;
}

}  // namespace

const ModelDef* find_model(std::string_view name) {
  for (const ModelDef* model : kTable) {
    if (model->name == name) return model;
  }
  return nullptr;
}

Shape input_shape(const ModelDef& model) {
  if (model.length != 0) return {model.length};
  return {model.channels, model.image, model.image};
}

std::span<const ModelDef* const> all_models() {
  return kTable;
}

Graph build_model(std::string_view name, const ModelOptions& options) {
  const ModelDef& model = model_of(name);
  ModelOptions resolved = options;
  resolved.classes = resolve_classes(model, options.classes);
  resolved.image = resolve_image(model, options.image);
  resolved.length = resolve_length(model, options.length);
  resolved.vocabulary = resolve_vocabulary(model, options.vocabulary);
  resolved.sizes = resolve_sizes(model, options.sizes);
  TY_REQUIRE(options.end_of_text < std::max<int64_t>(resolved.vocabulary, 0),
             "{}: the end of a text is token {}, outside of the vocabulary of {}", name,
             options.end_of_text, resolved.vocabulary);
  TY_REQUIRE(1 <= options.batch && options.batch <= kLargestBatch,
             "{}: a batch of {} is not possible, expected 1 to {}", name, options.batch,
             kLargestBatch);
  TY_REQUIRE(kSmallestWidth <= options.width && options.width <= kLargestWidth,
             "{}: width {} is not possible, expected {} to {}", name, options.width, kSmallestWidth,
             kLargestWidth);
  TY_REQUIRE(options.form == TransformerForm{} || model.sizes.layers != 0,
             "{} has no form that could be chosen", name);
  TY_REQUIRE(options.form.positions == 0 || resolved.length <= options.form.positions,
             "{}: {} tokens are more than the {} positions that the network knows", name,
             resolved.length, options.form.positions);
  TY_REQUIRE(options.rows == 0 || model.takes_rows, "{} reads {}, no rows of a table; mlp does",
             name, model.length != 0 ? "tokens" : "pictures");
  TY_REQUIRE(0 <= options.rows && options.rows <= kLargestVocabulary,
             "{}: rows of {} numbers are not possible", name, options.rows);
  TY_REQUIRE(model.has_width || options.width == 1.0, "{} has no width multiplier", name);
  TY_REQUIRE(model.has_auxiliary || !options.auxiliary, "{} has no auxiliary classifiers", name);
  TY_REQUIRE(model.has_token_scores || !(options.token_scores || options.span_scores),
             "{} has one head", name);
  return model.build(resolved);
}

}  // namespace trainyard::models
