#include "engine/kernels/native/vision/ranking.h"

#include <algorithm>
#include <bit>

#include "engine/kernels/native/cpu.h"
#include "engine/kernels/native/vectors.h"

namespace trainyard::kernels::native {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr size_t kDigits = 3;
constexpr size_t kDigitValues = size_t{1} << kDigitBits;
// Below it counting digits costs more than comparing.
constexpr size_t kFewEntries = 256;

// Floats in falling order are such numbers in rising order; -0 is 0.
uint32_t falling_key(float score) {
  constexpr uint32_t kSign = 0x80000000U;
  const auto bits = std::bit_cast<uint32_t>(score + 0.0F);
  return (bits & kSign) != 0 ? bits : ~bits & ~kSign;
}

uint32_t digit(uint32_t key, size_t index) {
  return (key >> (index * kDigitBits)) & (kDigitValues - 1);
}

}  // namespace

std::span<const uint32_t> Ranking::rank(std::span<const float> scores, float least) {
  entries_.clear();
  const auto take = [&](size_t i) {
    entries_.push_back({falling_key(scores[i]), static_cast<uint32_t>(i)});
  };
  const __m256 lowest = _mm256_set1_ps(least);
  const size_t whole = scores.size() / kVector * kVector;
  entries_.reserve(scores.size());
  for (size_t i = 0; i < whole; i += kVector) {
    const __m256 above = _mm256_cmp_ps(_mm256_loadu_ps(&scores[i]), lowest, _CMP_GT_OQ);
    // Mostly none: a trained detector is sure of the background.
    for (auto lanes = static_cast<uint32_t>(_mm256_movemask_ps(above)); lanes != 0;
         lanes &= lanes - 1) {
      take(i + static_cast<size_t>(__builtin_ctz(lanes)));
    }
  }
  for (size_t i = whole; i < scores.size(); ++i) {
    if (scores[i] > least) take(i);
  }
  return sort();
}

std::span<const uint32_t> Ranking::rank(std::span<const float> scores) {
  entries_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    entries_[i] = {falling_key(scores[i]), static_cast<uint32_t>(i)};
  }
  return sort();
}

std::span<const uint32_t> Ranking::sort() {
  if (entries_.size() < kFewEntries) {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.key < b.key || (a.key == b.key && a.box < b.box);
    });
  } else {
    sort_by_digits();
  }
  boxes_.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) boxes_[i] = entries_[i].box;
  return boxes_;
}

// From the lowest digit to the highest; each pass keeps the order of equal digits.
void Ranking::sort_by_digits() {
  places_.assign(kDigits * kDigitValues, 0);
  for (const Entry& entry : entries_) {
    for (size_t d = 0; d < kDigits; ++d) ++places_[d * kDigitValues + digit(entry.key, d)];
  }
  other_.resize(entries_.size());
  for (size_t d = 0; d < kDigits; ++d) {
    uint32_t* place = places_.data() + d * kDigitValues;
    if (place[digit(entries_[0].key, d)] == entries_.size()) continue;
    uint32_t before = 0;
    for (size_t value = 0; value < kDigitValues; ++value) {
      const uint32_t here = place[value];
      place[value] = before;
      before += here;
    }
    for (const Entry& entry : entries_) other_[place[digit(entry.key, d)]++] = entry;
    entries_.swap(other_);
  }
}

}  // namespace trainyard::kernels::native
