#include "models/detection/exported.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "data/normalization.h"

namespace trainyard::detect {
namespace {

// The steps without the normalization at their end, and that.
struct Preparation {
  std::string steps;
  std::optional<data::Normalization> normalization;
};

Preparation split_steps(const std::string& text) {
  Preparation made{.steps = text, .normalization = std::nullopt};
  const size_t at = text.rfind("normalize:");
  if (at == std::string::npos) return made;
  made.normalization =
      data::Normalization::parse(text.substr(text.find(':', at) + 1), "preprocessing");
  made.steps = text.substr(0, at == 0 ? 0 : at - 1);
  return made;
}

ValueId channel_constant(ops::Builder& builder, const char* name, const std::vector<float>& values,
                         int64_t channels) {
  Tensor tensor(DType::kF32, Shape{1, channels, 1, 1});
  const std::span<float> out = tensor.values<float>();
  // One value may stand for all channels.
  for (size_t c = 0; c < out.size(); ++c) out[c] = values[std::min(c, values.size() - 1)];
  return builder.constant(name, std::move(tensor));
}

// (x - mean) / std between the input and what it went into.
void add_normalization(Graph& graph, const data::Normalization& normalization) {
  const ValueId input = graph.inputs()[0];
  const int64_t channels = graph.value(input).type.shape[1];
  ops::Builder builder(graph);
  const ValueId mean = channel_constant(builder, "prepare.mean", normalization.mean, channels);
  const ValueId deviation = channel_constant(builder, "prepare.std", normalization.std, channels);
  const ValueId centered = builder.add("Sub", {input, mean}, {}, "prepare.centered");
  const ValueId prepared = builder.add("Div", {centered, deviation}, {}, "prepare.normalized");
  graph.replace_uses(input, prepared);
  // The first of the two is the one use that stays.
  graph.set_node_input(graph.value(centered).producer, 0, input);
  graph.sort();
}

std::string numbers(const std::vector<float>& values) {
  std::vector<std::string> parts;
  for (const float value : values) parts.push_back(fmt::format("{}", value));
  return join(parts, "/");
}

}  // namespace

std::vector<PriorShape> shapes_of(const onnx_io::Metadata& known) {
  const auto own = known.find(onnx_io::kPriorsKey);
  return parse_shapes(own == known.end() ? kSsdShapes : own->second);
}

network::Preparation usual_preparation(int64_t image) {
  return {.steps = fmt::format("resize:{}x{},normalize:0.498039:0.501961", image, image),
          .picture = data::PictureShape{.channels = data::kColors}};
}

// Normalization in front and decoding behind go into the graph, so that the file takes pictures and
// gives boxes; the metadata says the rest.
onnx_io::Metadata prepare_export(Graph& graph, const onnx_io::Metadata& known, bool raw,
                                 const DecoderOptions& options) {
  TY_REQUIRE(is_detector(graph), "expected a detector, with the outputs locations and scores");
  onnx_io::Metadata metadata = known;
  const Shape image = graph.value(graph.inputs()[0]).type.shape;
  const network::Preparation own =
      network::preparation_of(known).value_or(usual_preparation(image[2]));
  const Preparation preparation = split_steps(own.steps);
  if (raw) {
    decode_outputs(graph, shapes_of(known));
  } else {
    detect_outputs(graph, shapes_of(known), options);
  }
  if (preparation.normalization) {
    add_normalization(graph, *preparation.normalization);
    metadata[kMeanKey] = numbers(preparation.normalization->mean);
    metadata[kStdKey] = numbers(preparation.normalization->std);
  }
  metadata[kTaskKey] = "detection";
  metadata[kSizeKey] = fmt::format("{}x{}", image[2], image[3]);
  metadata[kScoreKey] = fmt::format("{}", options.score);
  metadata[kOverlapKey] = fmt::format("{}", options.overlap);
  network::note_preparation({.steps = preparation.steps, .picture = own.picture}, metadata);
  return metadata;
}

// By names alone: a file need not come from here.
bool gives_detections(const Graph& graph) {
  constexpr const char* kNames[] = {"boxes", "labels", "scores"};
  if (graph.outputs().size() != 3 || graph.inputs().size() != 1) return false;
  for (size_t i = 0; i < 3; ++i) {
    if (graph.value(graph.outputs()[i]).name != kNames[i]) return false;
  }
  return true;
}

std::vector<FoundObject> found_objects(const Tensor& boxes, const Tensor& labels,
                                       const Tensor& scores, int64_t height, int64_t width,
                                       double threshold) {
  TY_REQUIRE(boxes.type().dtype == DType::kF32 && labels.type().dtype == DType::kI64 &&
                 scores.type().dtype == DType::kF32 &&
                 boxes.shape().num_elements() == 4 * scores.shape().num_elements() &&
                 labels.shape().num_elements() == scores.shape().num_elements(),
             "boxes, labels and scores are {}, {} and {}, expected f32[1,n,4], i64[1,n] and "
             "f32[1,n]",
             boxes.type().to_string(), labels.type().to_string(), scores.type().to_string());
  // Boxes are shares of the picture's sides.
  const auto inside = [](float share, int64_t side) {
    return std::clamp(static_cast<double>(share), 0.0, 1.0) * static_cast<double>(side);
  };
  std::vector<FoundObject> found;
  for (size_t i = 0; i < scores.values<float>().size(); ++i) {
    const auto score = static_cast<double>(scores.values<float>()[i]);
    // NaN fails as well.
    if (!(score >= threshold)) continue;
    const float* box = boxes.values<float>().data() + 4 * i;
    found.push_back({.label = labels.values<int64_t>()[i],
                     .score = score,
                     .region = {inside(box[0], width), inside(box[1], height),
                                inside(box[2], width), inside(box[3], height)}});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const FoundObject& a, const FoundObject& b) { return a.score > b.score; });
  return found;
}

}  // namespace trainyard::detect
