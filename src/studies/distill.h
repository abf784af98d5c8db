// Teacher and student with few labels (Yalniz et al., Billion-scale semi-supervised learning,
// 2019): a teacher learns from the labeled pictures and scores the others; students are trained
// first on what it chose, then on the labeled ones.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/settings.h"
#include "studies/selection.h"
#include "studies/study.h"

namespace trainyard::recipes {

struct DistillConfig {
  // The student, its data, batch, rate, schedule and epochs; the teacher's are the same but for
  // what stands below.
  train::TrainConfig training = {};
  double labeled = 0.02;         // share of the training set whose labels are known
  std::string teacher = {};      // a network to train, or a run directory; empty: the student's
  int64_t teacher_epochs = 0;    // 0: the student's
  int64_t pretrain_steps = 500;  // updates on the chosen pictures, rounded to whole epochs
  double finetune_rate = 0;      // 0: a tenth of the rate
  std::string targets = "hard";  // or "soft"
  double temperature = 1;        // of soft targets
};

// Those of distilling alone, in a fixed order; they point into `config`.
Settings distill_settings(DistillConfig& config);
// Throws Error for what makes no sense.
void check(const DistillConfig& config);

struct DistillCell {
  int64_t k = 0;
  int64_t p = 0;
  int64_t chosen = 0;              // pairs of picture and class
  int64_t pictures = 0;            // that stand in them
  int64_t fewest = 0;              // choices of the class that got fewest
  double right = 0;                // share of the choices whose class is the hidden one
  double pretrained_top1 = 0;      // before fine-tuning
  double top1 = 0;                 // at the end
  double seconds = 0;              // of pretraining and fine-tuning
  std::vector<Choice> shown = {};  // the best of each class
};

struct DistillResult {
  int64_t labeled = 0;
  int64_t unlabeled = 0;
  double teacher_top1 = 0;
  double teacher_right = 0;    // of the unlabeled pictures
  double supervised_top1 = 0;  // the student on the labeled pictures alone
  std::vector<DistillCell> cells = {};
  std::vector<std::string> class_names = {};
  // What cells' samples are indexes of.
  std::shared_ptr<const data::Dataset> pool = {};
};

// Every K with every P. All trainings are run directories in `folder`; what is there is not
// repeated. Throws Error for wrong settings, Failure if somebody wants to stop.
DistillResult distill(const DistillConfig& config, const std::vector<int64_t>& ks,
                      const std::vector<int64_t>& ps, const std::filesystem::path& folder,
                      const StudyHooks& hooks);

}  // namespace trainyard::recipes
