// Which unlabeled pictures a teacher chooses for its students (Yalniz et al., 2019).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/dataset.h"
#include "studies/scores.h"

namespace trainyard::recipes {

struct Choice {
  int64_t sample = 0;
  int64_t label = 0;  // the class it was chosen for
  float score = 0;    // of that class, by the teacher

  bool operator==(const Choice&) const = default;
};

// Each picture stands for its `p` best classes, and each class takes the `k` pictures that have the
// highest scores for it, or all there are. So a picture may be chosen for several classes. By
// class, the best first; the earlier of equals. Throws Error for k or p outside what there is.
std::vector<Choice> choose_pictures(const ScoreTable& scores, int64_t k, int64_t p);

enum class TargetForm : uint8_t {
  kHard,  // the class that a picture was chosen for
  kSoft,  // all of the teacher's probabilities
};

// The chosen pictures as a training set, one sample for each choice. `scores` are the soft targets,
// one row for each picture of `all`.
std::unique_ptr<data::Dataset> chosen_set(std::shared_ptr<const data::Dataset> all,
                                          std::vector<Choice> choices, TargetForm form,
                                          std::shared_ptr<const ScoreTable> scores);

}  // namespace trainyard::recipes
