#include "detect/error_kinds.h"

#include <algorithm>
#include <map>

namespace trainyard::detect {
namespace {

constexpr double kNear = 0.1;

struct PictureParts {
  std::vector<const Truth*> truths;
  std::vector<const Detection*> detections;
};

class PictureJudge {
 public:
  PictureJudge(const PictureParts& parts, const ScoringOptions& options)
      : parts_(parts), options_(options), found_(parts.truths.size(), false) {}

  ErrorKinds run() {
    for (const Detection* detection : parts_.detections) judge(*detection);
    for (size_t i = 0; i < found_.size(); ++i) {
      if (!found_[i] && !parts_.truths[i]->difficult) ++kinds_.missed;
    }
    return kinds_;
  }

 private:
  struct Best {
    double overlap = 0;
    size_t truth = 0;
  };

  Best best_of(const Detection& detection, bool same_class) const {
    Best best;
    for (size_t i = 0; i < parts_.truths.size(); ++i) {
      if ((parts_.truths[i]->label == detection.label) != same_class) continue;
      const double here = overlap(detection.region, parts_.truths[i]->region, options_.extra);
      if (here > best.overlap) best = {here, i};
    }
    return best;
  }

  void judge(const Detection& detection) {
    const Best own = best_of(detection, /*same_class=*/true);
    if (own.overlap >= options_.overlap) {
      if (parts_.truths[own.truth]->difficult) return;
      ++(found_[own.truth] ? kinds_.duplicate : kinds_.correct);
      found_[own.truth] = true;
      return;
    }
    if (best_of(detection, /*same_class=*/false).overlap >= options_.overlap) {
      ++kinds_.confusion;
    } else {
      ++(own.overlap >= kNear ? kinds_.localization : kinds_.background);
    }
  }

  const PictureParts& parts_;
  const ScoringOptions& options_;
  std::vector<bool> found_;
  ErrorKinds kinds_;
};

void add_kinds(const ErrorKinds& one, ErrorKinds& all) {
  for (int64_t ErrorKinds::*kind :
       {&ErrorKinds::correct, &ErrorKinds::duplicate, &ErrorKinds::localization,
        &ErrorKinds::confusion, &ErrorKinds::background, &ErrorKinds::missed}) {
    all.*kind += one.*kind;
  }
}

}  // namespace

ErrorReport count_errors(std::span<const Truth> truths, std::span<const Detection> detections,
                         double least_score, const ScoringOptions& options) {
  std::map<int64_t, PictureParts> pictures;
  for (const Truth& truth : truths) pictures[truth.picture].truths.push_back(&truth);
  for (const Detection& detection : detections) {
    if (detection.score < least_score) continue;
    pictures[detection.picture].detections.push_back(&detection);
  }
  ErrorReport report;
  for (auto& [picture, parts] : pictures) {
    std::stable_sort(parts.detections.begin(), parts.detections.end(),
                     [](const Detection* a, const Detection* b) { return a->score > b->score; });
    const ErrorKinds kinds = PictureJudge(parts, options).run();
    add_kinds(kinds, report.all);
    if (kinds.mistakes() > 0) report.pictures.push_back({picture, kinds});
  }
  std::stable_sort(report.pictures.begin(), report.pictures.end(),
                   [](const PictureErrors& a, const PictureErrors& b) {
                     return a.kinds.mistakes() > b.kinds.mistakes();
                   });
  return report;
}

}  // namespace trainyard::detect
