#include "data/text/masking.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "data/target.h"

namespace trainyard::data {
namespace {

constexpr double kMaskedShare = 0.15;
constexpr uint64_t kTen = 10;
constexpr uint64_t kHidden = 8;  // of ten

}  // namespace

int64_t masked_places(int64_t length) {
  return std::max<int64_t>(1,
                           static_cast<int64_t>(kMaskedShare * static_cast<double>(length) + 0.5));
}

void mask_tokens(std::span<int64_t> tokens, std::span<int64_t> wanted, int64_t vocabulary,
                 const RandomStream& random) {
  const auto length = tokens.size();
  const auto count = static_cast<size_t>(masked_places(static_cast<int64_t>(length)));
  std::vector<size_t> places(length);
  std::iota(places.begin(), places.end(), size_t{0});
  std::fill(wanted.begin(), wanted.end(), kNoLabel);
  // Numbers of one stream: which place, what becomes of it, and by which token.
  for (size_t i = 0; i < count; ++i) {
    std::swap(places[i], places[i + random.below(3 * i, length - i)]);
    int64_t& token = tokens[places[i]];
    wanted[places[i]] = token;
    const uint64_t fate = random.below(3 * i + 1, kTen);
    if (fate < kHidden) {
      token = vocabulary;
    } else if (fate == kHidden) {
      token = static_cast<int64_t>(random.below(3 * i + 2, static_cast<uint64_t>(vocabulary)));
    }
  }
}

}  // namespace trainyard::data
