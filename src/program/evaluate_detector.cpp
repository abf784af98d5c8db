#include "program/evaluate_detector.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "detect/evaluator.h"
#include "program/progress_line.h"

namespace trainyard::cli {
namespace {

// Another evaluator that reports progress.
class CountedEvaluator final : public train::Evaluator {
 public:
  CountedEvaluator(std::unique_ptr<Evaluator> inner, int64_t batches, bool quiet)
      : inner_(std::move(inner)), batches_(batches), quiet_(quiet) {}

  void add(std::span<const Tensor* const> outputs, const data::Batch& batch) override {
    inner_->add(outputs, batch);
    ++done_;
    if (quiet_) return;
    line_.show(static_cast<double>(done_) / static_cast<double>(batches_),
               fmt::format("batch {} of {}", done_, batches_));
  }
  train::Evaluation result() const override { return inner_->result(); }
  std::vector<double> sums() const override { return inner_->sums(); }
  void set_sums(std::span<const double> sums) override { inner_->set_sums(sums); }
  void combine(const train::TestTeam& team) override { inner_->combine(team); }

 private:
  std::unique_ptr<Evaluator> inner_;
  int64_t batches_;
  bool quiet_;
  int64_t done_ = 0;
  ProgressLine line_;
};

// Pictures and classes by their numbers in the set, classes from 1.
std::string coco_results(const std::vector<detect::Detection>& detections) {
  Json list = Json::array();
  for (const detect::Detection& each : detections) {
    const detect::Region& r = each.region;
    list.push_back(Json::object(
        {{"image_id", each.picture},
         {"category_id", each.label + 1},
         {"bbox", Json::array_of(std::vector<double>{r.left, r.top, r.width(), r.height()})},
         {"score", each.score}}));
  }
  return list.dump() + "\n";
}

// The number of each of the network's classes in the data, by name; -1: it has none.
std::vector<int64_t> numbers_by_name(const std::vector<std::string>& labels,
                                     const std::vector<std::string>& names) {
  std::vector<int64_t> numbers;
  for (const std::string& label : labels) {
    const auto found = std::find(names.begin(), names.end(), label);
    numbers.push_back(found == names.end() ? -1 : found - names.begin());
  }
  return numbers;
}

// How classes were compared, and which of the data the network cannot find.
void say_matching(const std::vector<std::string>& labels, const std::vector<std::string>& names,
                  report::Document& document) {
  document.data["classes_matched"] = labels.empty() ? "by number" : "by name";
  std::vector<std::string> unknown;
  if (labels.empty()) {
    document.blocks.emplace_back(report::Paragraph{
        "The names of the network's classes are not known (--labels F gives them): classes are "
        "compared by their number.",
        report::Tone::kNotice});
  } else {
    for (const std::string& name : names) {
      if (std::find(labels.begin(), labels.end(), name) == labels.end()) unknown.push_back(name);
    }
  }
  document.data["unknown_classes"] = Json::array_of(unknown);
  if (unknown.empty()) return;
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("The network does not know {}: all objects of {} count as missed.",
                  join(unknown, ", "), unknown.size() == 1 ? "this class" : "these classes"),
      report::Tone::kNotice});
}

}  // namespace

report::Document evaluate_detector(Graph graph, const data::Dataset& set, data::Loader& loader,
                                   const DetectorTest& request) {
  detect::DetectionTest seen;
  const train::Evaluation test = train::evaluate(
      std::move(graph), loader,
      [&](Graph& model) {
        return std::make_unique<CountedEvaluator>(
            detect::make_detection_evaluator(model, request.shapes, set.num_classes(), &seen,
                                             numbers_by_name(request.labels, set.class_names())),
            loader.num_batches(), request.quiet);
      },
      request.threads, {}, request.device);
  std::vector<std::string> names;
  for (int64_t i = 0; i < set.size(); ++i) names.push_back(set.sample_name(i));
  report::Document document =
      detection_document(seen.truths, seen.detections, set.class_names(), names, request.report);
  say_matching(request.labels, set.class_names(), document);
  document.data["images"] = test.images;
  document.data["images_per_s"] = static_cast<double>(test.images) / std::max(test.seconds, 1e-9);
  if (!request.detections.empty()) {
    write_file(request.detections, coco_results(seen.detections));
    document.blocks.emplace_back(report::Paragraph{"wrote " + request.detections});
    document.data["detections"] = request.detections;
  }
  return document;
}

}  // namespace trainyard::cli
