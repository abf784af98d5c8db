#include "serve/models/pictures.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/text.h"
#include "models/detection/annotate.h"
#include "models/detection/draw.h"
#include "serve/protocol/v2_codec.h"

namespace trainyard::serve {
namespace {

// Rows of scores: a batch and more than one class, maybe with dimensions of 1 behind.
bool has_classes(const TensorSpec& spec) {
  return spec.dims.size() >= 2 && spec.dims[1] > 1 && is_float(spec.dtype) &&
         std::all_of(spec.dims.begin() + 2, spec.dims.end(), [](int64_t dim) { return dim == 1; });
}

Json output_json(std::string_view name, std::string_view datatype,
                 const std::vector<int64_t>& shape, Json data) {
  return Json::object({{"name", name},
                       {"datatype", datatype},
                       {"shape", Json::array_of(shape)},
                       {"data", std::move(data)}});
}

std::string objects_json(const InferResult& result, std::span<const detect::FoundObject> objects,
                         std::span<const std::string> names) {
  Json boxes = Json::array();
  Json labels = Json::array();
  Json scores = Json::array();
  for (const detect::FoundObject& object : objects) {
    const detect::Region& box = object.region;
    for (const double side : {box.left, box.top, box.right, box.bottom}) boxes.push_back(side);
    labels.push_back(detect::label_of(object.label, names));
    scores.push_back(object.score);
  }
  const auto count = static_cast<int64_t>(objects.size());
  Json outputs = Json::array();
  outputs.push_back(output_json("boxes", "FP32", {count, 4}, std::move(boxes)));
  outputs.push_back(output_json("labels", "BYTES", {count}, std::move(labels)));
  outputs.push_back(output_json("scores", "FP32", {count}, std::move(scores)));
  return Json::object({{"model_name", result.model},
                       {"model_version", result.version},
                       {"outputs", std::move(outputs)}})
      .dump(-1);
}

// The best class of the first output that has classes, on the whole picture.
void draw_class(data::Image& image, const InferResult& result, const Network& network) {
  const auto& specs = network.outputs();
  const auto found = std::find_if(specs.begin(), specs.end(), has_classes);
  if (found == specs.end()) {
    refuse(Status::kBadRequest,
           "Accept is image/png, but model '{}' gives neither classes nor boxes to draw",
           result.model);
  }
  const BestClasses best =
      best_classes(find_output(result, found->name).data, 1, network.labels(), /*has_rows=*/true);
  // "score:index:label", where a label may have colons of its own; see best_classes.
  const std::string_view text = best.texts[0];
  const size_t index = text.find(':') + 1;
  const size_t label = text.find(':', index);
  detect::Mark mark{.region = {.left = 0,
                               .top = 0,
                               .right = static_cast<double>(image.width),
                               .bottom = static_cast<double>(image.height)},
                    .label = {}};
  mark.label = label != std::string_view::npos ? std::string(text.substr(label + 1))
                                               : fmt::format("class {}", text.substr(index));
  detect::draw_marks(image, {&mark, 1});
}

}  // namespace

InferRequest best_of_each(const Network& network) {
  constexpr int64_t kBest = 5;
  InferRequest wanted;
  for (const TensorSpec& spec : network.outputs()) {
    wanted.outputs.push_back(
        {.name = spec.name, .classes = has_classes(spec) ? std::min(kBest, spec.dims[1]) : 0});
  }
  return wanted;
}

bool is_picture(std::string_view body) {
  return body.starts_with("\xff\xd8\xff") || body.starts_with("\x89PNG\r\n");
}

// Other queries are ignored, as those of HTTP usually are.
PictureRequest read_question(Body picture, std::string_view accept, std::string_view query) {
  PictureRequest question{.picture = std::move(picture)};
  question.drawn = accept.find("image/png") != std::string_view::npos;
  constexpr std::string_view kThreshold = "threshold=";
  if (query.starts_with(kThreshold)) {
    const std::string_view text = query.substr(kThreshold.size());
    const auto threshold = parse_number<double>(text);
    if (!threshold || !(*threshold >= 0 && *threshold <= 1)) {
      refuse(Status::kBadRequest, "threshold is '{}', expected a number from 0 to 1", text);
    }
    question.threshold = *threshold;
  }
  return question;
}

HttpResponse answer_question(const PictureRequest& question, const InferResult& result,
                             const Network& network) {
  HttpResponse response;
  std::vector<detect::FoundObject> objects;
  if (network.finds_objects()) {
    // Boxes are relative to the picture as it was sent, whose size its header tells without
    // decoding.
    const data::PictureSize size = data::picture_size(*question.picture);
    objects =
        detect::found_objects(result.outputs[0].data, result.outputs[1].data,
                              result.outputs[2].data, size.height, size.width, question.threshold);
  }
  if (question.drawn) {
    // Decoded a second time: what the network saw was resized and normalized.
    data::Image image = data::decode_image(*question.picture, "the picture");
    if (network.finds_objects()) {
      detect::draw_objects(image, objects, network.labels());
    } else {
      draw_class(image, result, network);
    }
    response.content_type = "image/png";
    response.body = data::encode_png(image);
  } else if (network.finds_objects()) {
    response.body = objects_json(result, objects, network.labels());
  } else {
    response.body = write_v2_response(best_of_each(network), result, network.labels()).body;
  }
  return response;
}

}  // namespace trainyard::serve
