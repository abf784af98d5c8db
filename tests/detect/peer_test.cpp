// Priors, matching, mining, loss, decoding and suppression against figures of pytorch-ssd's own
// code (tools/make_detection_fixture.py).
#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "detect/matching.h"
#include "detect/multibox.h"
#include "detect/scoring.h"
#include "engine/compiler.h"
#include "engine/executable.h"
#include "models/detection/decoder.h"
#include "train/training_step.h"

namespace trainyard::detect {
namespace {

constexpr int64_t kPictures = 3;
constexpr int64_t kPeerPriors = 3000;
constexpr int64_t kPeerClasses = 4;

const Json& peer() {
  static const Json kFigures =
      Json::parse(read_file(std::string(TY_DETECT_DIR) + "/peer.json"), "peer.json");
  return kFigures;
}

double number(const Json& list, size_t index) {
  return list.items()[index].as_number();
}

std::vector<std::vector<Object>> peer_objects() {
  return {{{{0.1, 0.1, 0.4, 0.5}, 1},
           {{0.12, 0.1, 0.42, 0.52}, 2},
           {{0.6, 0.55, 0.98, 0.9}, 3},
           {{0.05, 0.74, 0.2, 0.93}, 1}},
          {{{0.05, 0.02, 0.95, 0.99}, 2}},
          {}};
}

Tensor waves(Shape shape, double pace, double phase, double size) {
  Tensor tensor(DType::kF32, std::move(shape));
  double i = 0;
  for (float& value : tensor.values<float>()) {
    value = static_cast<float>(size * std::sin(pace * i + phase));
    i += 1;
  }
  return tensor;
}

Tensor peer_locations() {
  return waves({kPictures, kPeerPriors, 4}, 0.7, 0, 1.5);
}

Tensor peer_scores() {
  return waves({kPictures, kPeerPriors, kPeerClasses}, 1.1, 1, 2);
}

TEST(Priors, AreThePeers) {
  const std::vector<Prior> priors = ssd_priors(300);
  ASSERT_EQ(priors.size(), 3000U);
  double sums[4] = {};
  for (const Prior& prior : priors) {
    sums[0] += static_cast<double>(prior.x);
    sums[1] += static_cast<double>(prior.y);
    sums[2] += static_cast<double>(prior.width);
    sums[3] += static_cast<double>(prior.height);
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(sums[i], number(peer().at("prior_sums"), i), 1e-3);
  for (const auto& [index, figures] : peer().at("priors").members()) {
    const Prior& prior = priors[static_cast<size_t>(std::stoll(index))];
    EXPECT_NEAR(prior.x, number(figures, 0), 1e-6) << index;
    EXPECT_NEAR(prior.y, number(figures, 1), 1e-6) << index;
    EXPECT_NEAR(prior.width, number(figures, 2), 1e-6) << index;
    EXPECT_NEAR(prior.height, number(figures, 3), 1e-6) << index;
  }
}

TEST(Priors, FollowTheSizeOfThePicture) {
  EXPECT_EQ(ssd_priors(512).size(), 6U * (32 * 32 + 16 * 16 + 8 * 8 + 4 * 4 + 2 * 2 + 1));
  for (const Prior& prior : ssd_priors(320)) {
    EXPECT_GE(prior.x, 0);
    EXPECT_LE(prior.y, 1);
    EXPECT_GT(prior.width, 0);
  }
}

TEST(Priors, DecodeUndoesEncode) {
  const Prior prior = {0.4F, 0.6F, 0.2F, 0.3F};
  const Region region = {0.31, 0.42, 0.55, 0.91};
  const Region back = decode(encode(region, prior), prior);
  EXPECT_NEAR(back.left, region.left, 1e-6);
  EXPECT_NEAR(back.top, region.top, 1e-6);
  EXPECT_NEAR(back.right, region.right, 1e-6);
  EXPECT_NEAR(back.bottom, region.bottom, 1e-6);
}

TEST(Matching, IsThePeers) {
  const Matcher matcher(ssd_priors(300));
  std::vector<Match> matches;
  for (size_t picture = 0; picture < kPictures; ++picture) {
    matcher.match(peer_objects()[picture], matches);
    const Json& expected = peer().at("positives").items()[picture];
    size_t next = 0;
    for (size_t p = 0; p < matches.size(); ++p) {
      if (matches[p].label == 0) continue;
      ASSERT_LT(next, expected.items().size());
      const Json& row = expected.items()[next++];
      EXPECT_EQ(static_cast<int64_t>(p), row.items()[0].as_int());
      EXPECT_EQ(matches[p].label, row.items()[1].as_int());
      EXPECT_NEAR(matches[p].offsets.x, number(row, 2), 1e-4);
      EXPECT_NEAR(matches[p].offsets.y, number(row, 3), 1e-4);
      EXPECT_NEAR(matches[p].offsets.width, number(row, 4), 1e-4);
      EXPECT_NEAR(matches[p].offsets.height, number(row, 5), 1e-4);
    }
    EXPECT_EQ(next, expected.items().size()) << picture;
  }
}

// A network that gives its parameters: so the gradients of locations and scores can be seen.
Graph peer_network() {
  Graph graph("peer");
  ops::Builder b(graph);
  const ValueId image = b.input("image", {DType::kF32, {kPictures, 3, 8, 8}});
  const ValueId none = b.add("ReduceSum", {b.add("Mul", {image, b.constant_scalar("zero", 0)})},
                             {{"keepdims", int64_t{0}}});
  const auto output = [&](const char* name, Tensor data) {
    const Shape shape = data.shape();
    const ValueId parameter = b.parameter(std::string(name) + ".weight", shape, init_constant(0));
    graph.mutable_value(parameter).constant = std::make_shared<const Tensor>(std::move(data));
    return b.add("Add", {parameter, none}, {}, name);
  };
  const ValueId locations = output("locations", peer_locations());
  const ValueId scores = output("scores", peer_scores());
  graph.set_outputs({locations, scores});
  return graph;
}

data::Batch peer_batch(bool with_objects) {
  data::Batch batch;
  batch.images = Tensor::zeros({DType::kF32, {kPictures, 3, 8, 8}});
  batch.labels = Tensor::zeros({DType::kI64, {kPictures}});
  batch.valid = kPictures;
  batch.boxes.resize(kPictures);
  const std::vector<std::vector<Object>> objects = peer_objects();
  for (size_t i = 0; with_objects && i < kPictures; ++i) {
    for (const Object& object : objects[i]) {
      const auto side = [](double share) { return static_cast<float>(8 * share); };
      batch.boxes[i].push_back({.left = side(object.region.left),
                                .top = side(object.region.top),
                                .right = side(object.region.right),
                                .bottom = side(object.region.bottom),
                                .label = object.label - 1});
    }
    // Nothing is learned from it.
    batch.boxes[i].push_back({.left = 0, .top = 0, .right = 8, .bottom = 4, .difficult = true});
  }
  return batch;
}

std::unique_ptr<train::TrainingStep> peer_step(bool with_objects) {
  train::StepOptions options;
  options.training.objective = add_multibox_loss;
  options.update = false;
  auto step = std::make_unique<train::TrainingStep>(peer_network(), options);
  train::feed_step(peer_batch(with_objects),
                   multibox_feed(std::make_shared<const Matcher>(ssd_priors(300))), *step);
  step->run(0);
  return step;
}

TEST(Multibox, LossAndGradientsAreThePeers) {
  const auto made = peer_step(true);
  const train::TrainingStep& step = *made;
  EXPECT_NEAR(step.metric("location_loss"), peer().at("location_loss").as_number(), 2e-5);
  EXPECT_NEAR(step.metric("class_loss"), peer().at("class_loss").as_number(), 5e-5);
  EXPECT_NEAR(step.loss(),
              peer().at("location_loss").as_number() + peer().at("class_loss").as_number(), 1e-4);
  for (size_t i = 0; i < step.num_parameters(); ++i) {
    double sum = 0;
    double size = 0;
    double background = 0;
    const Tensor& gradient = step.gradient(i);
    const std::span<const float> values = gradient.values<float>();
    for (size_t k = 0; k < values.size(); ++k) {
      sum += static_cast<double>(values[k]);
      size += std::fabs(static_cast<double>(values[k]));
      if (k % kPeerClasses == 0 && k < kPeerPriors * kPeerClasses) {
        background += static_cast<double>(values[k]);
      }
    }
    if (step.states()[i].name == "locations.weight") {
      EXPECT_NEAR(sum, number(peer().at("location_gradient"), 0), 1e-5);
      EXPECT_NEAR(size, number(peer().at("location_gradient"), 1), 1e-4);
    } else if (step.states()[i].name == "scores.weight") {
      EXPECT_NEAR(size, number(peer().at("score_gradient"), 0), 1e-4);
      EXPECT_NEAR(background, number(peer().at("score_gradient"), 1), 1e-4);
    }
  }
}

// The same by differences, at some of the locations that count; scores would change what is mined.
TEST(Multibox, GradientsAgreeWithDifferences) {
  constexpr float kStep = 1e-2F;
  const auto made = peer_step(true);
  train::TrainingStep& step = *made;
  for (size_t i = 0; i < step.num_parameters(); ++i) {
    if (step.states()[i].name != "locations.weight") continue;
    std::map<size_t, float> places;
    const std::span<const float> values = step.gradient(i).values<float>();
    for (size_t k = 0; k < values.size() && places.size() < 12; k += 7) {
      if (values[k] != 0) places[k] = values[k];
    }
    ASSERT_FALSE(places.empty());
    for (const auto& [k, expected] : places) {
      double losses[2];
      for (const int side : {0, 1}) {
        Tensor moved = step.state(i);
        const float start = moved.values<float>()[k];
        moved.values<float>()[k] = start + (side == 0 ? -kStep : kStep);
        step.set_state(i, moved);
        step.run(0);
        losses[side] = step.loss();
        moved.values<float>()[k] = start;
        step.set_state(i, moved);
      }
      EXPECT_NEAR((losses[1] - losses[0]) / (2 * static_cast<double>(kStep)), expected, 1e-3)
          << step.states()[i].name << " " << k;
    }
  }
}

TEST(Multibox, BatchWithoutObjectsHasNoLoss) {
  const auto made = peer_step(false);
  const train::TrainingStep& step = *made;
  EXPECT_EQ(step.loss(), 0);
  for (size_t i = 0; i < step.num_parameters(); ++i) {
    for (const float value : step.gradient(i).values<float>()) ASSERT_EQ(value, 0);
  }
}

// Decoded by nodes, as exported files do it.
TEST(Decoder, BoxesAndSuppressionAreThePeers) {
  Graph graph("decode");
  ops::Builder b(graph);
  const ValueId locations = b.input("locations", {DType::kF32, {kPictures, kPeerPriors, 4}});
  const ValueId scores = b.input("scores", {DType::kF32, {kPictures, kPeerPriors, kPeerClasses}});
  const DecodedBoxes decoded = add_decoder(b, locations, scores, ssd_priors(300));
  const SelectedBoxes all = add_suppression(b, decoded, {.score = 0.3});
  graph.set_outputs({all.boxes, all.scores, all.selected});
  runtime::ExecutionContext context(runtime::compile(std::move(graph), {}));
  context.set_input(0, peer_locations());
  context.set_input(1, peer_scores());
  context.run();
  for (const auto& [index, figures] : peer().at("decoded").members()) {
    const float* box =
        context.output(0).values<float>().data() + 4 * (kPeerPriors + std::stoll(index));
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(box[i], number(figures, i), 1e-5) << index;
  }
  // The peer looks at the 200 best candidates alone, so what comes first is the same.
  const Json& kept = peer().at("suppressed");
  const std::span<const int64_t> selected = context.output(2).values<int64_t>();
  for (size_t i = 0; i < kept.at("scores").items().size(); ++i) {
    ASSERT_EQ(selected[3 * i], 0);
    ASSERT_EQ(selected[3 * i + 1], 0);
    const float score = context.output(1).values<float>()[static_cast<size_t>(selected[3 * i + 2])];
    EXPECT_NEAR(score, number(kept.at("scores"), i), 1e-6);
  }
}

TEST(Averages, AreThePeers) {
  std::vector<CurvePoint> curve;
  double right = 0;
  double said = 0;
  for (const int hit : {1, 1, 0, 1, 0, 0, 1, 0, 1, 0}) {
    right += hit;
    said += 1;
    curve.push_back({.recall = right / 6, .precision = right / said});
  }
  EXPECT_NEAR(eleven_point_average(curve), peer().at("eleven_point").as_number(), 1e-12);
  EXPECT_NEAR(every_point_average(curve), peer().at("every_point").as_number(), 1e-12);
}

}  // namespace
}  // namespace trainyard::detect
