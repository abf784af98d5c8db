#include "models/zoo/model.h"

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
  TY_REQUIRE(model.length != 0, "{} reads images, so it takes no length of a text", model.name);
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
  TY_REQUIRE(1 <= options.batch && options.batch <= kLargestBatch,
             "{}: a batch of {} is not possible, expected 1 to {}", name, options.batch,
             kLargestBatch);
  TY_REQUIRE(kSmallestWidth <= options.width && options.width <= kLargestWidth,
             "{}: width {} is not possible, expected {} to {}", name, options.width, kSmallestWidth,
             kLargestWidth);
  TY_REQUIRE(model.has_width || options.width == 1.0, "{} has no width multiplier", name);
  TY_REQUIRE(model.has_auxiliary || !options.auxiliary, "{} has no auxiliary classifiers", name);
  return model.build(resolved);
}

}  // namespace trainyard::models
