#include "detect/task.h"

#include <memory>

#include "detect/evaluator.h"
#include "detect/fit_priors.h"
#include "detect/multibox.h"
#include "models/detection/decoder.h"

namespace trainyard::detect {

std::string settle_priors(const train::TrainConfig& config, const Graph& model,
                          const data::Dataset& training, const onnx_io::Metadata& known) {
  if (config.priors == "auto") {
    const auto own = known.find(onnx_io::kPriorsKey);
    return own == known.end() ? std::string(kSsdShapes) : own->second;
  }
  if (config.priors == "fitted") {
    const int64_t image = model.value(model.inputs()[0]).type.shape[2];
    const auto seed = static_cast<uint64_t>(config.seed);
    return shapes_text(fit_priors(training, image, seed, maps_of(model)).shapes);
  }
  parse_shapes(config.priors);
  return config.priors;
}

train::Task detection_task(const Graph& model, const data::Dataset& training,
                           std::vector<PriorShape> shapes) {
  const auto matcher = std::make_shared<const Matcher>(priors_of(model, shapes));
  return {
      .objective = add_multibox_loss,
      .feed = multibox_feed(matcher),
      .evaluator = [classes = training.num_classes(), shapes = std::move(shapes)](Graph& judged) {
        return make_detection_evaluator(judged, shapes, classes);
      }};
}

}  // namespace trainyard::detect
