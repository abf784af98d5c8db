#include "models/detection/decoder.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::detect {
namespace {

constexpr int64_t kCoordinates = 2;
constexpr int64_t kBoxNumbers = 4;

// What nodes of a decoder are made with.
class DecoderNodes {
 public:
  explicit DecoderNodes(ops::Builder& builder) : b_(builder) {}

  ValueId ints(const char* name, std::vector<int64_t> values) {
    return b_.constant_ints(std::string("decode.") + name, values);
  }

  ValueId number(const char* name, float value) {
    return b_.constant_scalar(std::string("decode.") + name, value);
  }

  // x[..., begin:end] along one axis.
  ValueId slice(ValueId x, const char* name, int64_t axis, int64_t begin, int64_t end) {
    const std::string prefix = name;
    return b_.add(
        "Slice",
        {x, ints((prefix + ".starts").c_str(), {begin}), ints((prefix + ".ends").c_str(), {end}),
         ints((prefix + ".axes").c_str(), {axis})},
        {}, "decode." + prefix);
  }

  // Two numbers of each prior: 1 x priors x 2.
  ValueId pairs(const char* name, std::span<const Prior> priors, float Prior::*first,
                float Prior::*second) {
    Tensor tensor(DType::kF32, Shape{1, static_cast<int64_t>(priors.size()), kCoordinates});
    float* out = tensor.values<float>().data();
    for (const Prior& prior : priors) {
      *out++ = prior.*first;
      *out++ = prior.*second;
    }
    return b_.constant(std::string("decode.") + name, std::move(tensor));
  }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const char* name,
              Attributes attributes = {}) {
    return b_.add(op, std::move(inputs), std::move(attributes), std::string("decode.") + name);
  }

 private:
  ops::Builder& b_;
};

std::pair<ValueId, ValueId> raw_outputs(const Graph& graph) {
  TY_REQUIRE(is_detector(graph),
             "expected a detector with the outputs locations and scores, as ssd300-mobilenet_v1 "
             "has them");
  return {graph.outputs()[0], graph.outputs()[1]};
}

}  // namespace

bool is_detector(const Graph& graph) {
  if (graph.outputs().size() != 2 || graph.inputs().size() != 1) return false;
  const Value& locations = graph.value(graph.outputs()[0]);
  const Value& scores = graph.value(graph.outputs()[1]);
  return locations.name == "locations" && scores.name == "scores" &&
         locations.type.shape.rank() == 3 && scores.type.shape.rank() == 3 &&
         locations.type.shape[2] == kBoxNumbers && locations.type.shape[1] == scores.type.shape[1];
}

size_t maps_of(const Graph& graph) {
  const auto [locations, scores] = raw_outputs(graph);
  const Shape& image = graph.value(graph.inputs()[0]).type.shape;
  TY_REQUIRE(image.rank() == 4 && image[2] == image[3] && image[2] > 0,
             "a detector's input is {}, expected a square picture", image.to_string());
  const int64_t found = graph.value(locations).type.shape[1];
  for (const size_t maps : {kMaps, kMapsWithFine}) {
    const auto expected = static_cast<int64_t>(ssd_priors(image[2], ssd_shapes(maps)).size());
    if (found == expected) return maps;
  }
  throw_error("the detector has {} priors, SSD has {} for pictures of {} x {}", found,
              ssd_priors(image[2]).size(), image[2], image[3]);
}

std::vector<Prior> priors_of(const Graph& graph, std::span<const PriorShape> shapes) {
  const size_t maps = maps_of(graph);
  const int64_t image = graph.value(graph.inputs()[0]).type.shape[2];
  if (shapes.empty()) return ssd_priors(image, ssd_shapes(maps));
  TY_REQUIRE(shapes.size() == maps * kShapesPerPosition,
             "the detector has {} maps with {} priors at each position, but {} shapes are given",
             maps, kShapesPerPosition, shapes.size());
  return ssd_priors(image, shapes);
}

DecodedBoxes add_decoder(ops::Builder& builder, ValueId locations, ValueId scores,
                         std::span<const Prior> priors) {
  DecoderNodes nodes(builder);
  const ValueId sizes = nodes.pairs("sizes", priors, &Prior::width, &Prior::height);
  const ValueId centers = nodes.pairs("centers", priors, &Prior::x, &Prior::y);
  const ValueId moves = nodes.slice(locations, "moves", 2, 0, kCoordinates);
  const ValueId growth = nodes.slice(locations, "growth", 2, kCoordinates, kBoxNumbers);
  const ValueId moved = nodes.add(
      "Mul",
      {nodes.add("Mul", {moves, nodes.number("center_variance", kCenterVariance)}, "moves.scaled"),
       sizes},
      "moves.sized");
  const ValueId center = nodes.add("Add", {moved, centers}, "center");
  const ValueId grown = nodes.add(
      "Exp",
      {nodes.add("Mul", {growth, nodes.number("size_variance", kSizeVariance)}, "growth.scaled")},
      "growth.exp");
  const ValueId half = nodes.add(
      "Mul", {nodes.add("Mul", {grown, sizes}, "size"), nodes.number("half", 0.5F)}, "half_size");
  const ValueId low = nodes.add("Sub", {center, half}, "low");
  const ValueId high = nodes.add("Add", {center, half}, "high");
  return {nodes.add("Concat", {low, high}, "boxes", {{"axis", int64_t{2}}}),
          nodes.add("Softmax", {scores}, "probabilities", {{"axis", int64_t{2}}})};
}

SelectedBoxes add_suppression(ops::Builder& builder, const DecodedBoxes& decoded,
                              const DecoderOptions& options) {
  DecoderNodes nodes(builder);
  const int64_t classes = builder.shape(decoded.scores)[2];
  const ValueId by_class = nodes.add("Transpose", {decoded.scores}, "by_class",
                                     {{"perm", std::vector<int64_t>{0, 2, 1}}});
  const ValueId objects = nodes.slice(by_class, "objects", 1, 1, classes);
  const ValueId selected =
      nodes.add("NonMaxSuppression",
                {decoded.boxes, objects, nodes.ints("most_per_class", {options.most_per_class}),
                 nodes.number("overlap", static_cast<float>(options.overlap)),
                 nodes.number("score", static_cast<float>(options.score))},
                "selected");
  return {decoded.boxes, objects, selected};
}

namespace {

// The outputs of a detector.
struct FoundBoxes {
  ValueId boxes;
  ValueId labels;
  ValueId scores;
};

// Of one picture the best boxes of all classes, in order, as many as there are.
FoundBoxes add_best(ops::Builder& builder, const SelectedBoxes& all,
                    const DecoderOptions& options) {
  DecoderNodes nodes(builder);
  // Scores are found by picture, class and prior; boxes by picture and prior.
  const ValueId found = nodes.add("GatherND", {all.scores, all.selected}, "found");
  const ValueId count = nodes.add("Shape", {found}, "count");
  const ValueId most = nodes.ints("most", {options.most});
  const std::vector<ValueId> best =
      builder.add_multi("TopK", {found, nodes.add("Min", {count, most}, "kept")}, 2,
                        {{"axis", int64_t{0}}}, "decode.best");
  const ValueId rows = nodes.add("Gather", {all.selected, best[1]}, "rows", {{"axis", int64_t{0}}});
  const ValueId labels = nodes.add("Gather", {rows, nodes.ints("class_column", {1})}, "class_of",
                                   {{"axis", int64_t{1}}});
  const ValueId places = nodes.add("Gather", {rows, nodes.ints("place_columns", {0, 2})},
                                   "place_of", {{"axis", int64_t{1}}});
  const ValueId boxes = nodes.add("GatherND", {all.boxes, places}, "box_of");
  const ValueId front = nodes.ints("front", {0});
  return {nodes.add("Unsqueeze", {boxes, front}, "out_boxes"),
          nodes.add("Transpose", {labels}, "out_labels", {{"perm", std::vector<int64_t>{1, 0}}}),
          nodes.add("Unsqueeze", {best[0], front}, "out_scores")};
}

// Of several pictures the same number of boxes for each: where a picture has fewer, scores are 0
// and labels -1. Scores of what was not selected are 0, so that the best of a picture are found
// among all of them.
FoundBoxes add_best_of_each_picture(ops::Builder& builder, const SelectedBoxes& all,
                                    const DecoderOptions& options) {
  DecoderNodes nodes(builder);
  const Shape shape = builder.shape(all.scores);
  const int64_t classes = shape[1];
  const int64_t priors = shape[2];
  const ValueId found = nodes.add("GatherND", {all.scores, all.selected}, "found");
  const ValueId nothing =
      nodes.add("ConstantOfShape", {nodes.ints("scores", {shape[0], classes, priors})}, "nothing");
  const ValueId kept = nodes.add("ScatterND", {nothing, all.selected, found}, "kept");
  const ValueId rows =
      nodes.add("Reshape", {kept, nodes.ints("rows", {shape[0], classes * priors})}, "by_picture");
  const ValueId most = nodes.ints("most", {std::min(options.most, classes * priors)});
  const std::vector<ValueId> best =
      builder.add_multi("TopK", {rows, most}, 2, {{"axis", int64_t{1}}}, "decode.best");
  const ValueId per_class = nodes.ints("priors", {priors});
  const ValueId label = nodes.add("Div", {best[1], per_class}, "class_of");
  const ValueId prior = nodes.add("Mod", {best[1], per_class}, "place_of");
  const ValueId is_box = nodes.add("Greater", {best[0], nodes.number("none", 0.0F)}, "is_box");
  const ValueId place = nodes.add("Unsqueeze", {prior, nodes.ints("back", {2})}, "place");
  return {nodes.add("GatherND", {all.boxes, place}, "out_boxes", {{"batch_dims", int64_t{1}}}),
          nodes.add("Where", {is_box, label, nodes.ints("no_label", {-1})}, "out_labels"), best[0]};
}

}  // namespace

void decode_outputs(Graph& graph, std::span<const PriorShape> shapes) {
  const std::vector<Prior> priors = priors_of(graph, shapes);
  const auto [locations, scores] = raw_outputs(graph);
  graph.rename_value(scores, "class_scores");
  ops::Builder builder(graph);
  const DecodedBoxes decoded = add_decoder(builder, locations, scores, priors);
  graph.rename_value(decoded.boxes, "boxes");
  graph.rename_value(decoded.scores, "scores");
  graph.set_outputs({decoded.scores, decoded.boxes});
}

void detect_outputs(Graph& graph, std::span<const PriorShape> shapes,
                    const DecoderOptions& options) {
  const std::vector<Prior> priors = priors_of(graph, shapes);
  const auto [locations, scores] = raw_outputs(graph);
  const bool one = graph.value(locations).type.shape[0] == 1;
  graph.rename_value(scores, "class_scores");
  ops::Builder builder(graph);
  const SelectedBoxes all =
      add_suppression(builder, add_decoder(builder, locations, scores, priors), options);
  const FoundBoxes found =
      one ? add_best(builder, all, options) : add_best_of_each_picture(builder, all, options);
  graph.rename_value(found.boxes, "boxes");
  graph.rename_value(found.labels, "labels");
  graph.rename_value(found.scores, "scores");
  graph.set_outputs({found.boxes, found.labels, found.scores});
}

}  // namespace trainyard::detect
