// Two passes over data in blocks of eight channels: the first takes sums per channel over batch and
// positions, the second works on each element with what follows from the sums.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <immintrin.h>
#include <span>
#include <string_view>

#include "ir/node_view.h"
#include "kernels/native/cpu.h"
#include "kernels/parallel/parallel.h"

namespace trainyard::kernels::native {

inline constexpr int64_t kLanes = 8;

inline std::string_view refuses_channel_sums(const NodeView& node) {
  if (!cpu_has_avx2_fma()) return "the processor lacks AVX2 or FMA";
  if (node.input_type(0).dtype != DType::kF32) return "only f32 is implemented";
  if (node.input_shape(0).rank() < 3) return "data without positions are not implemented";
  if (node.input_shape(0).num_elements() == 0) return "the input is empty";
  return "";
}

// Two sums for each channel of a block.
struct Sums {
  double of[2][kLanes] = {};
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

// Block by block where there are enough blocks to keep the threads evenly busy: then the second
// pass finds a block in the cache.
inline bool by_blocks(int64_t planes) {
  constexpr int64_t kEven = 8;
  const int64_t threads = kernels::threads();
  return planes % threads == 0 || planes >= kEven * threads;
}

template <typename Factors>
int64_t channel_sums_scratch(int64_t images, int64_t planes) {
  return static_cast<int64_t>(sizeof(Sums)) * images * planes +
         static_cast<int64_t>(sizeof(Factors)) * planes;
}

// sum_piece(image, plane, Sums&) adds to zeros; finish(plane, const Sums&, Factors&); apply(image,
// plane, const Factors&). The parts of images are added in order, whatever the threads.
template <typename Factors, typename SumPiece, typename Finish, typename Apply>
void run_channel_sums(int64_t images, int64_t planes, std::span<std::byte> scratch,
                      const SumPiece& sum_piece, const Finish& finish, const Apply& apply) {
  const auto total_of = [&](int64_t plane, auto&& part_of_image) {
    Sums total;
    for (int64_t image = 0; image < images; ++image) {
      const Sums part = part_of_image(image);
      for (int which = 0; which < 2; ++which) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
          total.of[which][lane] += part.of[which][lane];
        }
      }
    }
    Factors factors;
    finish(plane, total, factors);
    return factors;
  };
  if (by_blocks(planes)) {
    parallel_for(planes, [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const Factors factors = total_of(plane, [&](int64_t image) {
          Sums part;
          sum_piece(image, plane, part);
          return part;
        });
        // The last images are the likeliest to be in the cache still.
        for (int64_t image = images; image-- > 0;) apply(image, plane, factors);
      }
    });
    return;
  }
  auto* parts = reinterpret_cast<Sums*>(scratch.data());
  auto* all_factors = reinterpret_cast<Factors*>(parts + images * planes);
  parallel_for(images * planes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      parts[i] = Sums{};
      sum_piece(i % images, i / images, parts[i]);
    }
  });
  parallel_for(planes, [&](int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) {
      all_factors[plane] =
          total_of(plane, [&](int64_t image) { return parts[plane * images + image]; });
    }
  });
  parallel_for(images * planes, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) apply(i % images, i / images, all_factors[i / images]);
  });
}

}  // namespace trainyard::kernels::native
