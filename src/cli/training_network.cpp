#include "cli/training_network.h"

#include "base/error.h"
#include "data/augment.h"
#include "models/model.h"
#include "network/network.h"

namespace trainyard::cli {
namespace {

// Scores of other classes than the data has cannot be trained; a new head is another network.
void require_classes(const Graph& graph, const train::TrainConfig& config, int64_t classes) {
  const Shape& scores = graph.value(graph.outputs()[0]).type.shape;
  const int64_t found = scores.rank() == 0 ? 0 : scores[scores.rank() - 1];
  TY_REQUIRE(found == classes,
             "{} has {} outputs, and {} classes are asked for ({}): a file keeps its head. Train a "
             "network of the zoo, or export one with --classes {}",
             config.model, found, classes, config.classes > 0 ? "--classes" : "by the data",
             classes);
}

}  // namespace

Graph build_training_network(const train::TrainConfig& config, const data::Dataset& training,
                             int64_t batch) {
  const data::PictureShape picture = data::Augmentations(config.augment, training).output();
  const int64_t classes = config.classes > 0 ? config.classes : training.num_classes();
  network::Request request{.model = config.model, .batch = batch};
  if (network::is_path(config.model)) {
    Graph graph = network::load(request);
    require_classes(graph, config, classes);
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

}  // namespace trainyard::cli
