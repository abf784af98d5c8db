// Which classes were taken for which: tables, a heat map and data of a confusion matrix.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "report/chart.h"
#include "report/table.h"

namespace trainyard::report {

struct ClassCounts {
  std::string name;
  int64_t images = 0;   // that are of the class
  int64_t guessed = 0;  // that the network says are
  int64_t correct = 0;  // both
};

class Confusion {
 public:
  // A matrix of more classes is for programs; people get what is confused most often.
  static constexpr size_t kWidest = 20;

  // counts[truth * classes + guess], a square (TY_CHECKed). Classes beyond the names have their
  // number.
  Confusion(std::vector<int64_t> counts, std::span<const std::string> names);

  size_t size() const { return classes_.size(); }
  bool is_wide() const { return size() > kWidest; }
  const std::vector<ClassCounts>& classes() const { return classes_; }

  // Images, recall and precision of the classes that appear. Of more than `most`, those with the
  // lowest recall.
  Table classes_table(size_t most = std::numeric_limits<size_t>::max()) const;
  Table matrix_table() const;
  // The ten pairs of different classes with the most images.
  Table confused_table() const;
  // Without the diagonal, so that the mistakes are seen.
  Chart mistakes_chart(std::string title) const;

  Json classes_json() const;
  Json matrix_json() const;

 private:
  int64_t at(size_t truth, size_t guess) const { return counts_[truth * size() + guess]; }

  std::vector<int64_t> counts_;
  std::vector<ClassCounts> classes_;
};

// Nothing of nothing is no share.
Cell part_cell(int64_t part, int64_t all);

}  // namespace trainyard::report
