// NonMaxSuppression of 3,000 priors and 21 classes, at most 200 a class, beside the reference, with
// other threads and shares of scores above the threshold; both must keep the same boxes.
//
//   suppression_bench [--threads T] [--seconds S per row]
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/core.h>

#include "engine/kernels/native/vision/suppression.h"
#include "engine/kernels/parallel/parallel.h"
#include "side_by_side.h"
#include "tensor/tensor.h"

namespace trainyard::bench {
namespace {

constexpr int64_t kBoxes = 3000;
constexpr int64_t kClasses = 21;

// SSD's grids at 300 x 300: six shapes at each position, moved and grown as an untrained network
// does.
Tensor ssd_boxes(std::mt19937& random) {
  constexpr int kGrids[] = {19, 10, 5, 3, 2, 1};
  constexpr float kShapes[][2] = {{1, 1},         {1.32F, 1.32F}, {1.41F, 0.71F},
                                  {0.71F, 1.41F}, {1.73F, 0.58F}, {0.58F, 1.73F}};
  std::normal_distribution<float> normal;
  Tensor boxes(DType::kF32, Shape{1, kBoxes, 4});
  float* to = boxes.view().as<float>();
  float size = 0.2F;
  for (const int grid : kGrids) {
    for (int cell = 0; cell < grid * grid; ++cell) {
      const int row = cell / grid;
      for (const auto& shape : kShapes) {
        const float w = size * shape[0] * std::exp(0.1F * normal(random));
        const float h = size * shape[1] * std::exp(0.1F * normal(random));
        const float x = (static_cast<float>(cell % grid) + 0.5F) / static_cast<float>(grid);
        const float y = (static_cast<float>(row) + 0.5F) / static_cast<float>(grid);
        for (const float corner : {x - w / 2, y - h / 2, x + w / 2, y + h / 2}) *to++ = corner;
      }
    }
    size += 0.15F;
  }
  return boxes;
}

// A share of the scores is above 0.01.
Tensor drawn_scores(std::mt19937& random, double share) {
  Tensor scores(DType::kF32, Shape{1, kClasses, kBoxes});
  std::uniform_real_distribution<float> uniform(0, 1);
  for (float& score : scores.values<float>()) {
    const bool counts = uniform(random) < static_cast<float>(share);
    score = 0.01F * uniform(random) + (counts ? 0.011F + 0.1F * uniform(random) : 0.0F);
  }
  return scores;
}

void time_share(double share, int threads, double seconds) {
  std::mt19937 random(1);
  const Tensor boxes = ssd_boxes(random);
  const Tensor scores = drawn_scores(random, share);
  const ops::SuppressionRules rules{.most_per_class = 200,
                                    .overlap = 0.45,
                                    .score = static_cast<double>(0.01F),
                                    .has_score = true};
  kernels::set_threads(threads);
  std::vector<std::array<int64_t, 3>> expected;
  std::vector<std::array<int64_t, 3>> found;
  const std::vector<double> times = time_in_turns(
      {[&](int) { expected = ops::select_boxes(boxes.view(), scores.view(), rules); },
       [&](int) { found = kernels::native::suppress_boxes(boxes.view(), scores.view(), rules); }},
      threads, seconds);
  fmt::print("{:>8.1f} % {:>8} {:>12.3f} {:>10.3f} {:>6.1f} {}\n", 100 * share, found.size(),
             1e3 * times[0], 1e3 * times[1], times[0] / times[1],
             found == expected ? "same boxes" : "DIFFERENT");
}

int run(int argc, char** argv) {
  int threads = 2;
  double seconds = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--threads") threads = std::stoi(argv[i + 1]);
    if (flag == "--seconds") seconds = std::stod(argv[i + 1]);
  }
  fmt::print("{} boxes, {} classes, {} threads\n", kBoxes, kClasses, threads);
  fmt::print("{:>10} {:>8} {:>12} {:>10} {:>6}\n", "candidates", "kept", "reference ms",
             "native ms", "ratio");
  for (const double share : {1.0, 0.3, 0.1, 0.01, 0.001}) time_share(share, threads, seconds);
  return 0;
}

}  // namespace
}  // namespace trainyard::bench

int main(int argc, char** argv) {
  return trainyard::bench::run(argc, argv);
}
