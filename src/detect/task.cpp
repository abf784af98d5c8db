#include "detect/task.h"

#include <memory>

#include "detect/decoder.h"
#include "detect/evaluator.h"
#include "detect/multibox.h"

namespace trainyard::detect {

train::Task detection_task(const Graph& model, const data::Dataset& training) {
  const auto matcher = std::make_shared<const Matcher>(priors_of(model));
  return {.objective = add_multibox_loss,
          .feed = multibox_feed(matcher),
          .evaluator = [classes = training.num_classes()](Graph& judged) {
            return make_detection_evaluator(judged, classes);
          }};
}

}  // namespace trainyard::detect
