// Two passes over data in blocks of eight channels: the first takes sums per channel over batch and
// positions, the second works on each element with what follows from the sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>

#include "engine/kernels/api/refusals.h"
#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/flat.h"
#include "engine/kernels/native/vectors.h"
#include "engine/kernels/parallel/exchange.h"
#include "engine/kernels/parallel/parallel.h"
#include "ir/node_view.h"

namespace trainyard::kernels::native {

inline constexpr int64_t kLanes = 8;

inline std::string_view refuses_channel_sums(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return kOnlyF32;
  if (node.input_shape(0).rank() < 3) return "data without positions are not implemented";
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  return "";
}

// Two sums for each channel of a block.
struct Sums {
  double of[2][kLanes] = {};

  void add(const Sums& other) {
    for (int which = 0; which < 2; ++which) {
      for (int64_t lane = 0; lane < kLanes; ++lane) of[which][lane] += other.of[which][lane];
    }
  }
};

// Calls f(begin, end) for chunks of a plane that are short enough to sum in float.
template <typename F>
void for_each_chunk(int64_t positions, F&& f) {
  constexpr int64_t kChunk = 256;
  for (int64_t i = 0; i < positions; i += kChunk) {
    f(i * kLanes, std::min(positions, i + kChunk) * kLanes);
  }
}

// Two running sums in float, each in four vectors so that additions overlap.
class LaneSums {
 public:
  // step(at, sums) adds what is at element `at` to sums[0] and sums[1].
  template <typename Step>
  void run(int64_t begin, int64_t end, Step&& step) {
    int64_t at = begin;
    for (; at + kWays * kLanes <= end; at += kWays * kLanes) {
      for (int way = 0; way < kWays; ++way) step(at + way * kLanes, sums_[way]);
    }
    for (; at < end; at += kLanes) step(at, sums_[0]);
  }

  void add_to(Sums& total) const {
    for (int which = 0; which < 2; ++which) {
      const __m256 sum = _mm256_add_ps(_mm256_add_ps(sums_[0][which], sums_[1][which]),
                                       _mm256_add_ps(sums_[2][which], sums_[3][which]));
      float lanes[kLanes];
      _mm256_storeu_ps(lanes, sum);
      for (int64_t lane = 0; lane < kLanes; ++lane) {
        total.of[which][lane] += static_cast<double>(lanes[lane]);
      }
    }
  }

 private:
  static constexpr int kWays = 4;
  __m256 sums_[kWays][2] = {{_mm256_setzero_ps(), _mm256_setzero_ps()},
                            {_mm256_setzero_ps(), _mm256_setzero_ps()},
                            {_mm256_setzero_ps(), _mm256_setzero_ps()},
                            {_mm256_setzero_ps(), _mm256_setzero_ps()}};
};

// Planes are worked on in groups: as many as it takes to read a few pages in a row, where planes
// are small.
inline constexpr int64_t kMostPlanes = 16;
inline int64_t planes_per_group(const Planes& x) {
  constexpr int64_t kRun = 4096;  // elements
  return std::clamp<int64_t>(kRun / x.plane_elements(), 1, kMostPlanes);
}

// Group by group where there are enough to keep the threads evenly busy: then the second pass finds
// a group in the cache.
inline bool by_groups(int64_t groups) {
  constexpr int64_t kEven = 8;
  const int64_t threads = kernels::threads();
  return groups % threads == 0 || groups >= kEven * threads;
}

template <typename Factors>
int64_t channel_sums_scratch(const Planes& x) {
  return static_cast<int64_t>(sizeof(Sums)) * x.images * x.planes +
         static_cast<int64_t>(sizeof(Factors)) * x.planes;
}

// What is done with each plane: begin(plane) gives its factors, sum(image, plane, factors, sums)
// adds to zeros, finish(plane, sums, factors) changes the factors by the total, apply(image, plane,
// factors) is the second pass.
template <typename Begin, typename Sum, typename Finish, typename Apply>
struct ChannelSums {
  Begin begin;
  Sum sum;
  Finish finish;
  Apply apply;
};
template <typename Begin, typename Sum, typename Finish, typename Apply>
ChannelSums(Begin, Sum, Finish, Apply) -> ChannelSums<Begin, Sum, Finish, Apply>;

// The parts of images are added in order, whatever the threads.
template <typename Factors, typename Steps>
void run_by_groups(const Planes& x, const Steps& steps) {
  const int64_t most = planes_per_group(x);
  parallel_for((x.planes + most - 1) / most, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const int64_t first = group * most;
      const int64_t count = std::min(most, x.planes - first);
      Sums totals[kMostPlanes];
      Factors factors[kMostPlanes];
      for (int64_t i = 0; i < count; ++i) factors[i] = steps.begin(first + i);
      for (int64_t image = 0; image < x.images; ++image) {
        for (int64_t i = 0; i < count; ++i) {
          Sums part;
          steps.sum(image, first + i, factors[i], part);
          totals[i].add(part);
        }
      }
      for (int64_t i = 0; i < count; ++i) steps.finish(first + i, totals[i], factors[i]);
      // The last images are the likeliest to be in the cache still.
      for (int64_t image = x.images; image-- > 0;) {
        for (int64_t i = 0; i < count; ++i) steps.apply(image, first + i, factors[i]);
      }
    }
  });
}

// The same in three steps over all images and planes. `exchange` adds the sums of other workers;
// null: there are none.
template <typename Factors, typename Steps>
void run_by_pieces(const Planes& x, std::span<std::byte> scratch, Exchange* exchange,
                   const Steps& steps) {
  auto* parts = reinterpret_cast<Sums*>(scratch.data());
  auto* factors = reinterpret_cast<Factors*>(parts + x.images * x.planes);
  const auto for_each_plane = [&](const auto& f) {
    parallel_for(x.planes, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) f(plane);
    });
  };
  const auto for_each_piece = [&](const auto& f) {
    parallel_for(x.images * x.planes, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i / x.planes, i % x.planes, i);
    });
  };
  for_each_plane([&](int64_t plane) { factors[plane] = steps.begin(plane); });
  for_each_piece([&](int64_t image, int64_t plane, int64_t i) {
    parts[i] = Sums{};
    steps.sum(image, plane, factors[plane], parts[i]);
  });
  // The total of a plane takes the place of its first part.
  for_each_plane([&](int64_t plane) {
    for (int64_t image = 1; image < x.images; ++image) {
      parts[plane].add(parts[image * x.planes + plane]);
    }
  });
  if (exchange != nullptr) {
    exchange->sum({&parts[0].of[0][0], static_cast<size_t>(2 * kLanes * x.planes)});
  }
  for_each_plane([&](int64_t plane) { steps.finish(plane, parts[plane], factors[plane]); });
  for_each_piece(
      [&](int64_t image, int64_t plane, int64_t) { steps.apply(image, plane, factors[plane]); });
}

template <typename Factors, typename Steps>
void run_channel_sums(const Planes& x, std::span<std::byte> scratch, Exchange* exchange,
                      const Steps& steps) {
  const int64_t most = planes_per_group(x);
  if (exchange == nullptr && by_groups((x.planes + most - 1) / most)) {
    run_by_groups<Factors>(x, steps);
  } else {
    run_by_pieces<Factors>(x, scratch, exchange, steps);
  }
}

}  // namespace trainyard::kernels::native
