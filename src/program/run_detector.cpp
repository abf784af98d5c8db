#include "program/run_detector.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "data/image.h"
#include "data/image_grid.h"
#include "data/picture_input.h"
#include "engine/executable.h"
#include "models/detection/annotate.h"
#include "models/detection/exported.h"
#include "models/model_notes.h"
#include "program/given_inputs.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostDetectedPictures = 1000;
constexpr int64_t kSheetSide = 480;

// NAME= may stand before a picture, as for other networks.
std::string file_of(const std::string& input) {
  const size_t equals = input.find('=');
  // A file whose name has an equals sign in it is taken as it is.
  return equals == std::string::npos || fs::exists(input) ? input : input.substr(equals + 1);
}

std::vector<std::string> picture_files(const std::vector<std::string>& inputs) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    const std::string file = file_of(input);
    if (!fs::is_directory(file)) {
      files.push_back(file);
      continue;
    }
    std::vector<std::string> inside;
    // Only the folder itself, in the order of names, so that results can be compared between runs.
    for (const auto& entry : fs::directory_iterator(file)) {
      if (is_picture_file(entry.path().string())) inside.push_back(entry.path().string());
    }
    TY_REQUIRE(!inside.empty(), "{}: no .jpg or .png file in it", file);
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  TY_REQUIRE(files.size() <= kMostDetectedPictures, "{} pictures, at most {} at once", files.size(),
             kMostDetectedPictures);
  return files;
}

// One network for all pictures, which come one after the other.
class Detector {
 public:
  Detector(Graph graph, const onnx_io::Metadata& metadata, const runtime::CompileOptions& options) {
    const Shape input = graph.value(graph.inputs()[0]).type.shape;
    TY_REQUIRE(input.rank() == 4 && input[0] == 1,
               "the input is {}; a picture fills f32[1,3,height,width] (--batch 1)",
               input.to_string());
    preparation_ = network::preparation_of(metadata).value_or(detect::usual_preparation(input[2]));
    input_ = {input[1], input[2], input[3]};
    // A detector without decoding gets it now; one that was exported with boxes has it.
    if (detect::is_detector(graph)) detect::detect_outputs(graph, detect::shapes_of(metadata), {});
    context_.emplace(runtime::compile(std::move(graph), options));
  }

  std::vector<detect::FoundObject> run(const data::Image& image, double threshold) {
    context_->set_input(0, network::picture_tensor(image, preparation_, input_));
    context_->run();
    return detect::found_objects(context_->output(0), context_->output(1), context_->output(2),
                                 image.height, image.width, threshold);
  }

 private:
  network::Preparation preparation_;
  data::PictureShape input_;
  std::optional<runtime::ExecutionContext> context_;
};

// One picture as it is, several on a sheet.
data::Image sheet_of(std::vector<data::Image>& images) {
  if (images.size() == 1) return std::move(images[0]);
  int64_t columns = 1;
  const auto count = static_cast<int64_t>(images.size());
  // The smallest square that holds all.
  while (columns * columns < count) ++columns;
  data::ImageGrid sheet((count + columns - 1) / columns, columns, {3, kSheetSide, kSheetSide});
  data::Pixels room;
  for (int64_t i = 0; i < count; ++i) {
    data::to_planes(images[static_cast<size_t>(i)], room);
    sheet.place(i / columns, i % columns, room.view());
  }
  return sheet.image();
}

Json object_json(const detect::FoundObject& object, const std::vector<std::string>& labels,
                 const std::string& file) {
  const detect::Region& r = object.region;
  return Json::object(
      {{"label", detect::label_of(object.label, labels)},
       {"score", object.score},
       {"box", Json::array_of(std::vector<double>{r.left, r.top, r.right, r.bottom})},
       {"picture", file}});
}

}  // namespace

bool is_detection(const Graph& graph, const std::vector<std::string>& inputs) {
  if (!detect::is_detector(graph) && !detect::gives_detections(graph)) return false;
  return !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](const std::string& input) {
    const std::string file = file_of(input);
    return is_picture_file(file) || fs::is_directory(file);
  });
}

report::Document run_detector(Graph graph, const onnx_io::Metadata& metadata,
                              const DetectorRequest& request,
                              const runtime::CompileOptions& options) {
  TY_REQUIRE(0 <= request.threshold && request.threshold <= 1, "--threshold is {}, expected 0 to 1",
             request.threshold);
  TY_REQUIRE(request.draw.empty() || request.draw.ends_with(".png"),
             "--draw writes a PNG picture; '{}' does not end in .png", request.draw);
  const std::vector<std::string> files = picture_files(request.inputs);
  Detector detector(std::move(graph), metadata, options);
  report::Document document;
  report::Table table({{"picture", report::Align::kLeft, 40},
                       {"label", report::Align::kLeft, 30},
                       {"score"},
                       {"left"},
                       {"top"},
                       {"right"},
                       {"bottom"}});
  Json detections = Json::array();
  std::vector<data::Image> images;
  double seconds = 0;
  for (const std::string& file : files) {
    data::Image image = data::read_image(file);
    // Preprocessing counts, reading and decoding the file do not.
    const Stopwatch watch;
    std::vector<detect::FoundObject> objects = detector.run(image, request.threshold);
    seconds += watch.seconds();
    for (const detect::FoundObject& object : objects) {
      const detect::Region& r = object.region;
      table.add_row({fs::path(file).filename().string(),
                     detect::label_of(object.label, request.labels),
                     report::fixed_cell(object.score, 3), report::fixed_cell(r.left, 0),
                     report::fixed_cell(r.top, 0), report::fixed_cell(r.right, 0),
                     report::fixed_cell(r.bottom, 0)});
      detections.push_back(object_json(object, request.labels, file));
    }
    if (request.draw.empty()) continue;
    // Boxes shrink with the picture, before they are drawn, so that lines and letters stay legible.
    if (files.size() > 1) detect::shrink_with_objects(image, objects, kSheetSide);
    detect::draw_objects(image, objects, request.labels);
    images.push_back(std::move(image));
  }
  document.blocks.emplace_back(report::Paragraph{
      fmt::format("{} in {}, with a score of {:g} or more; {} a picture", table.num_rows(),
                  files.size() == 1 ? files[0] : fmt::format("{} pictures", files.size()),
                  request.threshold, seconds_text(seconds / static_cast<double>(files.size())))});
  if (table.num_rows() > 0) document.blocks.emplace_back(std::move(table));
  document.data = Json::object({{"model", request.model},
                                {"pictures", Json::array_of(files)},
                                {"threshold", request.threshold},
                                {"detections", std::move(detections)}});
  if (!request.draw.empty()) {
    const std::string png = data::encode_png(sheet_of(images));
    write_file(request.draw, png);
    document.blocks.emplace_back(report::Paragraph{"wrote " + request.draw});
    if (request.shown) document.blocks.emplace_back(report::Picture{png, request.draw});
    document.data["draw"] = request.draw;
  }
  return document;
}

}  // namespace trainyard::cli
