// Counter-based random numbers: the n-th number of a stream depends on (key, n) alone, so results
// do not depend on the order or the thread in which they are drawn.
#pragma once

#include <cstdint>
#include <string_view>

namespace trainyard {

// A bijective mixer (the finalizer of SplitMix64).
constexpr uint64_t mix_bits(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// FNV-1a; turns a name into a stream key.
constexpr uint64_t hash_text(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

__extension__ using Wide = unsigned __int128;

class RandomStream {
 public:
  constexpr explicit RandomStream(uint64_t seed, uint64_t key = 0)
      : key_(mix_bits(seed ^ mix_bits(key))) {}

  constexpr uint64_t bits(uint64_t index) const {
    return mix_bits(key_ + index * 0x9e3779b97f4a7c15ULL);
  }

  // Uniform in [0, 1).
  constexpr double uniform(uint64_t index) const {
    return static_cast<double>(bits(index) >> 11) * 0x1.0p-53;
  }

  // Standard normal (Box-Muller; consumes counters 2*index and 2*index+1).
  double normal(uint64_t index) const;

  // Uniform in [0, bound), without the bias of a plain remainder.
  constexpr uint64_t below(uint64_t index, uint64_t bound) const {
    return static_cast<uint64_t>((static_cast<Wide>(bits(index)) * bound) >> 64);
  }

 private:
  uint64_t key_;
};

}  // namespace trainyard
