// What a detector finds in several pictures at once is what it finds in each.
#include "models/detection/decoder.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/compiler.h"
#include "models/zoo/model.h"

namespace trainyard::detect {
namespace {

constexpr int64_t kSide = 96;
constexpr int64_t kMostBoxes = 40;

struct Found {
  std::vector<float> boxes;
  std::vector<int64_t> labels;
  std::vector<float> scores;
};

template <typename T>
std::vector<T> copy_of(const Tensor& tensor) {
  const std::span<const T> values = tensor.values<T>();
  return {values.begin(), values.end()};
}

Found detect_in(const Tensor& pictures, double score) {
  Graph graph = models::build_model(
      "ssd300-mobilenet_v1",
      {.batch = pictures.shape()[0], .classes = 4, .image = kSide, .width = 0.25});
  detect_outputs(graph, {}, {.score = score, .most = kMostBoxes});
  runtime::CompileOptions options;
  options.threads = 2;
  runtime::ExecutionContext context(runtime::compile(std::move(graph), options));
  context.set_input(0, pictures);
  context.run();
  return {copy_of<float>(context.output(0)), copy_of<int64_t>(context.output(1)),
          copy_of<float>(context.output(2))};
}

Tensor drawn_pictures(int64_t count) {
  Tensor pictures(DType::kF32, Shape{count, 3, kSide, kSide});
  uint32_t state = 5;
  for (float& value : pictures.values<float>()) {
    state = state * 1664525 + 1013904223;
    value = static_cast<float>(state >> 8) / static_cast<float>(1 << 23) - 1;
  }
  return pictures;
}

Tensor one_of(const Tensor& pictures, int64_t index) {
  Tensor one(DType::kF32, Shape{1, 3, kSide, kSide});
  const size_t size = one.values<float>().size();
  std::copy_n(pictures.values<float>().begin() + static_cast<ptrdiff_t>(size) * index, size,
              one.values<float>().begin());
  return one;
}

// The first `count` of a picture are what is found in it alone, the rest is nothing.
void expect_picture(const Found& all, int64_t index, const Found& alone) {
  const size_t count = alone.scores.size();
  ASSERT_LE(count, static_cast<size_t>(kMostBoxes));
  for (size_t i = 0; i < static_cast<size_t>(kMostBoxes); ++i) {
    const size_t at = static_cast<size_t>(index * kMostBoxes) + i;
    EXPECT_EQ(all.labels[at], i < count ? alone.labels[i] : -1) << i;
    EXPECT_NEAR(all.scores[at], i < count ? alone.scores[i] : 0.0F, 1e-6) << i;
    for (size_t c = 0; i < count && c < 4; ++c) {
      EXPECT_NEAR(all.boxes[4 * at + c], alone.boxes[4 * i + c], 1e-5) << i;
    }
  }
}

TEST(Decoder, SeveralPicturesAreOneAfterTheOther) {
  constexpr int64_t kPictures = 3;
  const Tensor pictures = drawn_pictures(kPictures);
  // More boxes than are asked for, some, none.
  std::vector<size_t> counts;
  for (const double score : {0.01, 0.4, 0.999}) {
    SCOPED_TRACE(score);
    const Found all = detect_in(pictures, score);
    ASSERT_EQ(all.scores.size(), static_cast<size_t>(kPictures * kMostBoxes));
    for (int64_t i = 0; i < kPictures; ++i) {
      const Found alone = detect_in(one_of(pictures, i), score);
      counts.push_back(alone.scores.size());
      expect_picture(all, i, alone);
    }
  }
  EXPECT_EQ(*std::max_element(counts.begin(), counts.end()), static_cast<size_t>(kMostBoxes));
  EXPECT_EQ(*std::min_element(counts.begin(), counts.end()), 0U);
}

}  // namespace
}  // namespace trainyard::detect
