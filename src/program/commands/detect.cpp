// `trainyard detect score` and `trainyard detect priors`: detections in files, and the boxes that a
// detector starts from.
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/dataset.h"
#include "detect/fit_priors.h"
#include "detect/score_files.h"
#include "detect/view.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

struct DetectFlags {
  std::string action;
  std::string truth;
  std::string detections;
  std::string metric = "11-point";
  std::string areas = "auto";
  std::string box = "sizes";
  double overlap = 0.5;
  double threshold = 0.5;
  bool strict = false;
  std::string data;
  int64_t image = 300;
  int64_t seed = 1;
  bool fine = false;
  report::Format format = report::Format::kText;
};

int score(const DetectFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.truth.empty() && !flags.detections.empty(),
             "say what to compare, as --truth T --detections D");
  TY_REQUIRE(0 < flags.overlap && flags.overlap <= 1,
             "--iou is {}, expected more than 0, at most 1", flags.overlap);
  const auto numbers =
      flags.box == "corners" ? detect::BoxNumbers::kCorners : detect::BoxNumbers::kSizes;
  const detect::TruthFile truth = detect::read_truths(flags.truth, numbers);
  const std::vector<detect::Detection> detections =
      detect::read_detections(flags.detections, truth, numbers);
  // VOC's kit counts the last pixel (+1), COCO takes coordinates as continuous.
  const bool pixels = flags.areas == "pixels" || (flags.areas == "auto" && truth.format != "coco");
  const DetectionReport request{
      .metric = flags.metric,
      .options = {.overlap = flags.overlap, .extra = pixels ? 1.0 : 0.0, .strict = flags.strict},
      .threshold = flags.threshold};
  report::Document document =
      detection_document(truth.truths, detections, truth.class_names, truth.pictures, request);
  document.title = fmt::format("{} against {}", flags.detections, flags.truth);
  document.data["areas"] = pixels ? "pixels" : "continuous";
  out << report::render(document, flags.format);
  return 0;
}

// Both lists have kShapesPerPosition shapes for each map, in the same order.
report::Table shape_table(const detect::PriorFit& fit, size_t maps) {
  report::Table table(
      {{"map"}, {"shape"}, {"SSD's width"}, {"height"}, {"fitted width"}, {"height"}});
  const std::vector<detect::PriorShape> own = detect::ssd_shapes(maps);
  for (size_t i = 0; i < own.size(); ++i) {
    table.add_row({std::to_string(i / detect::kShapesPerPosition),
                   std::to_string(i % detect::kShapesPerPosition),
                   report::fixed_cell(own[i].width, 3), report::fixed_cell(own[i].height, 3),
                   report::fixed_cell(fit.shapes[i].width, 3),
                   report::fixed_cell(fit.shapes[i].height, 3)});
  }
  return table;
}

int priors(const DetectFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.data.empty(), "say for which objects, as --data voc:DIR");
  constexpr int64_t kLeastImage = 64;
  constexpr int64_t kMostImage = 1024;
  TY_REQUIRE(kLeastImage <= flags.image && flags.image <= kMostImage,
             "--image is {}, expected {} to {}", flags.image, kLeastImage, kMostImage);
  const auto set = data::open_dataset(flags.data, data::Split::kTrain);
  TY_REQUIRE(set->target_kind() == data::TargetKind::kBoxes, "{} has no boxes", set->source());
  const size_t maps = flags.fine ? detect::kMapsWithFine : detect::kMaps;
  const detect::PriorFit fit =
      detect::fit_priors(*set, flags.image, static_cast<uint64_t>(flags.seed), maps);
  report::Document document;
  report::Table recall({{"priors", report::Align::kLeft},
                        {"mean overlap"},
                        {"objects at half overlap"},
                        {"recall"}});
  const auto add = [&](const char* name, const detect::PriorRecall& own) {
    recall.add_row({name, report::fixed_cell(own.mean_overlap, 3), report::count_cell(own.covered),
                    report::percent_cell(static_cast<double>(own.covered) /
                                         static_cast<double>(fit.objects))});
  };
  add("SSD's", fit.own);
  add("fitted", fit.fitted);
  document.blocks.emplace_back(
      report::Paragraph{fmt::format("{}: {} objects, pictures of {} x {}", set->source(),
                                    fit.objects, flags.image, flags.image)});
  document.blocks.emplace_back(std::move(recall));
  document.blocks.emplace_back(shape_table(fit, maps));
  const auto json = [&](const detect::PriorRecall& own) {
    return Json::object(
        {{"mean_overlap", own.mean_overlap},
         {"covered", own.covered},
         {"recall", static_cast<double>(own.covered) / static_cast<double>(fit.objects)}});
  };
  Json shapes = Json::array();
  for (const detect::PriorShape& shape : fit.shapes) {
    shapes.push_back(Json::object({{"width", shape.width}, {"height", shape.height}}));
  }
  document.data = Json::object({{"data", set->source()},
                                {"objects", fit.objects},
                                {"ssd", json(fit.own)},
                                {"fitted", json(fit.fitted)},
                                {"shapes", std::move(shapes)}});
  out << report::render(document, flags.format);
  return 0;
}

int detect_command(const DetectFlags& flags, std::ostream& out) {
  if (flags.action == "score") return score(flags, out);
  if (flags.action == "priors") return priors(flags, out);
  const std::vector<std::string> actions = {"score", "priors"};
  throw_error("expected `detect score` or `detect priors`, found `detect {}`.{}", flags.action,
              did_you_mean(flags.action, actions));
}

Runner setup_detect(Args& args) {
  auto flags = std::make_shared<DetectFlags>();
  args.positional("ACTION", flags->action,
                  "score: average precision of detections in files; priors: how well SSD's priors "
                  "cover the objects of a data set, and fitted ones would");
  args.option("--truth", flags->truth,
              "score: a folder of Pascal VOC's XML files, a COCO file, or a folder of text files, "
              "one a picture (class and four numbers a line)");
  args.option(
      "--detections", flags->detections,
      "score: a COCO results file, or a folder of text files: one a class as Pascal VOC has "
      "them, or one a picture (class, score and four numbers a line)");
  args.choice("--metric", flags->metric, detection_metrics(),
              "score: VOC 2007's, VOC 2010's, or COCO's average over overlaps");
  args.option("--iou", flags->overlap, "score: overlap (IoU) that counts as a match");
  args.choice(
      "--areas", flags->areas, {"auto", "pixels", "continuous"},
      "score: pixels: the last pixel belongs to the box, as in VOC's development kit; auto: "
      "pixels unless the truth is COCO's");
  args.choice("--box", flags->box, {"sizes", "corners"},
              "score: numbers of text files, one a picture: left top width height, or two corners");
  args.flag("--strict", flags->strict, "score: an overlap of exactly --iou is no match");
  args.option("--threshold", flags->threshold, "score: count mistakes above this score");
  args.option("--data", flags->data, "priors: a data set with boxes");
  args.option("--image", flags->image, "priors: height and width of the network's input");
  args.option("--seed", flags->seed, "priors: random seed for the fit");
  args.flag("--fine", flags->fine, "priors: with the finer map of ssd300-mobilenet_v1-fine");
  args.own_flags(
      [flags] { return flags->action; },
      {{{"score"}, {"truth", "detections", "metric", "iou", "areas", "box", "strict", "threshold"}},
       {{"priors"}, {"data", "image", "seed", "fine"}}});
  args.format(flags->format);
  return [flags](std::ostream& out) { return detect_command(*flags, out); };
}

}  // namespace

extern const Command kDetect = {
    .name = "detect",
    .group = "Train",
    .summary = "Score detections in files, or check how priors cover a data set",
    .examples =
        "  trainyard detect score --truth VOC2007/Annotations --detections results/Main\n"
        "  trainyard detect score --truth instances_val2017.json --detections results.json "
        "--metric coco\n"
        "  trainyard detect priors --data voc:VOC2007 --json\n",
    .setup = setup_detect,
};

}  // namespace trainyard::cli
