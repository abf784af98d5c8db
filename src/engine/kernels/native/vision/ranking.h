// The boxes of a class, best score first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace trainyard::kernels::native {

// Reuses its memory from class to class.
class Ranking {
 public:
  // Boxes with a score above `least`, by falling score, of equal ones the first box first. No score
  // may be NaN unless `least` is a number.
  std::span<const uint32_t> rank(std::span<const float> scores, float least);
  // All boxes.
  std::span<const uint32_t> rank(std::span<const float> scores);

 private:
  // A box and a number that is smaller for higher scores.
  struct Entry {
    uint32_t key;
    uint32_t box;
  };

  std::span<const uint32_t> sort();
  void sort_by_digits();

  std::vector<Entry> entries_;
  std::vector<Entry> other_;
  std::vector<uint32_t> places_;
  std::vector<uint32_t> boxes_;
};

}  // namespace trainyard::kernels::native
