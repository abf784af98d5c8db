#include "api/prediction/prediction.h"

#include "cluster/predict/catalog.h"
#include "cluster/predict/predict.h"

namespace trainyard::api {

std::vector<Prediction> predict(const Model& model, const Question& question) {
  const auto catalog = predict::Catalog::load({});
  predict::Networks networks([&](const std::string&) { return model.graph(); });
  predict::Request request;
  request.network = &networks.get(model.graph().name());
  request.device = &catalog.device(question.device);
  request.stack = question.stack.empty() ? &catalog.default_stack(*request.device)
                                         : &catalog.stack(question.stack);
  request.precision = predict::precision_from_name(question.precision);
  request.mode = question.inference ? predict::Mode::kInference : predict::Mode::kTraining;
  request.batch = question.batch;
  request.workers = question.workers;
  request.cluster.per_host = question.per_host;
  request.cluster.inside =
      catalog.link(question.inside.empty() ? request.device->inside : question.inside);
  request.cluster.between = catalog.between(*request.device, question.network);
  request.cluster.comm = &predict::find_comm_model("auto");
  predict::check(request);
  std::vector<Prediction> predictions;
  for (const predict::Row& row : predict::predict(request)) {
    predictions.push_back({row.workers, row.step, row.exposed_comm, row.images_per_s,
                           row.memory_bytes, row.fits, row.limit});
  }
  return predictions;
}

}  // namespace trainyard::api
