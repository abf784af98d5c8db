#include "cli/training_network.h"

#include <filesystem>

#include "base/error.h"
#include "data/augment.h"
#include "models/model.h"
#include "onnx_io/import.h"

namespace trainyard::cli {

Graph build_training_network(const train::TrainConfig& config, const data::Dataset& training,
                             int64_t batch) {
  const data::PictureShape picture = data::Augmentations(config.augment, training).output();
  if (const models::ModelDef* def = models::find_model(config.model)) {
    models::ModelOptions options;
    options.batch = batch;
    options.classes = config.classes > 0 ? config.classes : training.num_classes();
    options.image = config.image > 0 ? config.image : picture.height;
    if (options.image == def->image) options.image = 0;
    options.width = config.width;
    options.auxiliary = def->has_auxiliary && config.auxiliary_weight > 0;
    return models::build_model(config.model, options);
  }
  TY_REQUIRE(std::filesystem::exists(config.model), "there is no network '{}' and no such file",
             config.model);
  onnx_io::ImportOptions options;
  options.batch = batch;
  return onnx_io::import_model(config.model, options);
}

}  // namespace trainyard::cli
