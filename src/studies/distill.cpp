#include "studies/distill.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "data/augment.h"
#include "data/subsets.h"
#include "models/network.h"
#include "train/training_network.h"
#include "train/training_set.h"

namespace trainyard::recipes {
namespace {

namespace fs = std::filesystem;

constexpr size_t kShownOfClass = 8;

class Distillation {
 public:
  // Splits the training set by `data_seed`, so that a resumed study has the same labels.
  Distillation(const DistillConfig& config, fs::path folder, const StudyHooks& hooks)
      : config_(config), folder_(std::move(folder)), hooks_(hooks) {
    const std::shared_ptr<const data::Dataset> all =
        train::open_set(config.training, data::Split::kTrain);
    test_ = train::open_set(config.training, data::Split::kTest);
    // One normalization for all, whatever part they see.
    config_.training.augment = data::Augmentations(config.training.augment, *all).text();
    const auto count =
        static_cast<int64_t>(std::llround(config.labeled * static_cast<double>(all->size())));
    std::vector<int64_t> known =
        data::choose_evenly(*all, count, static_cast<uint64_t>(config.training.data_seed));
    std::vector<int64_t> rest;
    for (int64_t i = 0; i < all->size(); ++i) {
      if (!std::binary_search(known.begin(), known.end(), i)) rest.push_back(i);
    }
    TY_REQUIRE(!rest.empty(), "labeled is {}, which leaves no picture without a label",
               config.labeled);
    labeled_ = data::select_samples(all, std::move(known),
                                    fmt::format("{} labeled pictures of {}", count, all->source()));
    pool_ = data::select_samples(
        all, std::move(rest),
        fmt::format("{} unlabeled pictures of {}", all->size() - count, all->source()));
    // What cannot be is said before anything is trained.
    train::build_training_network(config_.training, *labeled_, config_.training.batch);
    TY_REQUIRE(count >= config.training.batch,
               "{} labeled pictures do not fill a batch of {}; raise `labeled` or lower `batch`",
               count, config.training.batch);
    if (has_given_teacher()) {
      network::load({.model = network::model_file(teacher_name())});
    } else {
      train::TrainConfig teacher = config_.training;
      teacher.model = teacher_name();
      train::build_training_network(teacher, *labeled_, teacher.batch);
    }
  }

  void require_choices(const std::vector<int64_t>& ks, const std::vector<int64_t>& ps) const {
    for (const int64_t k : ks) {
      TY_REQUIRE(1 <= k && k <= pool_->size(),
                 "K is {}, but there are {} unlabeled pictures to choose from", k, pool_->size());
    }
    for (const int64_t p : ps) {
      TY_REQUIRE(1 <= p && p <= pool_->num_classes(), "P is {}, expected 1 to the {} classes", p,
                 pool_->num_classes());
    }
  }

  DistillResult run(const std::vector<int64_t>& ks, const std::vector<int64_t>& ps) {
    DistillResult result{.labeled = labeled_->size(),
                         .unlabeled = pool_->size(),
                         .class_names = pool_->class_names(),
                         .pool = pool_};
    // Students follow the teacher, which all of them need; each training that is in `folder`
    // already is read back, not repeated.
    result.teacher_top1 = train_teacher();
    // A teacher of the same network has learned just that.
    result.supervised_top1 = teacher_is_student() ? result.teacher_top1
                                                  : train_once(config_.training, *labeled_, *test_,
                                                               folder_, "supervised", hooks_)
                                                        .points.back()
                                                        .accuracy;
    score();
    int64_t right = 0;
    for (int64_t i = 0; i < pool_->size(); ++i) {
      if (ranking_->best(i) == pool_->label(i)) ++right;
    }
    result.teacher_right = static_cast<double>(right) / static_cast<double>(pool_->size());
    for (const int64_t p : ps) {
      for (const int64_t k : ks) result.cells.push_back(train_student(k, p));
    }
    return result;
  }

 private:
  std::string teacher_name() const {
    return config_.teacher.empty() ? config_.training.model : config_.teacher;
  }
  bool teacher_is_student() const {
    return !has_given_teacher() && teacher_name() == config_.training.model &&
           (config_.teacher_epochs == 0 || config_.teacher_epochs == config_.training.epochs);
  }
  bool has_given_teacher() const { return network::is_path(teacher_name()); }
  fs::path teacher_path() const {
    return has_given_teacher() ? fs::path(teacher_name()) : folder_ / "teacher";
  }

  double train_teacher() {
    // A teacher from a file was trained on who knows what; only its score on the test set is
    // comparable.
    if (has_given_teacher()) {
      const ScoreTable scores = scores_of_teacher(*test_, 1);
      int64_t right = 0;
      for (int64_t i = 0; i < test_->size(); ++i) {
        if (scores.best(i) == test_->label(i)) ++right;
      }
      return static_cast<double>(right) / static_cast<double>(test_->size());
    }
    train::TrainConfig config = config_.training;
    config.model = teacher_name();
    if (config_.teacher_epochs > 0) config.epochs = config_.teacher_epochs;
    return train_once(config, *labeled_, *test_, folder_, "teacher", hooks_).points.back().accuracy;
  }

  ScoreTable scores_of_teacher(const data::Dataset& set, double temperature) const {
    const int64_t batch = std::min(config_.training.batch, set.size());
    Graph teacher =
        network::load({.model = network::model_file(teacher_path().string()), .batch = batch});
    const std::string steps = data::Augmentations(config_.training.augment, set).evaluation_text();
    ScoreTable scores = score_pictures(std::move(teacher), set, temperature,
                                       {.steps = steps,
                                        .threads = static_cast<int>(config_.training.threads),
                                        .data_workers = config_.training.data_workers,
                                        .should_stop = hooks_.should_stop});
    TY_REQUIRE(scores.classes == set.num_classes(), "the teacher {} has {} classes, the data {}",
               teacher_path().string(), scores.classes, set.num_classes());
    return scores;
  }

  // Once for all cells. Ranking uses plain probabilities; only targets are softened.
  void score() {
    if (hooks_.note) {
      hooks_.note(fmt::format("the teacher scores {} pictures", pool_->size()));
    }
    ranking_ = std::make_shared<ScoreTable>(scores_of_teacher(*pool_, 1));
    soft_ = config_.temperature == 1 || config_.targets != "soft"
                ? ranking_
                : std::make_shared<ScoreTable>(scores_of_teacher(*pool_, config_.temperature));
  }

  // Labels of the pool only serve to tell how often the teacher was right; students never see them.
  DistillCell describe(int64_t k, int64_t p, const std::vector<Choice>& choices) const {
    DistillCell cell{.k = k, .p = p, .chosen = static_cast<int64_t>(choices.size())};
    std::vector<int64_t> counts(static_cast<size_t>(pool_->num_classes()));
    std::set<int64_t> pictures;
    int64_t right = 0;
    for (const Choice& choice : choices) {
      int64_t& count = counts[static_cast<size_t>(choice.label)];
      if (count++ < static_cast<int64_t>(kShownOfClass)) cell.shown.push_back(choice);
      pictures.insert(choice.sample);
      if (pool_->label(choice.sample) == choice.label) ++right;
    }
    cell.pictures = static_cast<int64_t>(pictures.size());
    cell.fewest = *std::min_element(counts.begin(), counts.end());
    cell.right = static_cast<double>(right) / static_cast<double>(choices.size());
    return cell;
  }

  // As many updates for any K, so that more pictures do not mean more training.
  train::TrainConfig pretraining(int64_t samples) const {
    train::TrainConfig config = config_.training;
    TY_REQUIRE(samples >= config.batch,
               "{} chosen pictures do not fill a batch of {}; raise K or lower `batch`", samples,
               config.batch);
    const int64_t steps = samples / config.batch;
    config.epochs = std::max<int64_t>(1, (config_.pretrain_steps + steps / 2) / steps);
    if (config_.targets == "soft") config.loss = "soft-cross-entropy";
    return config;
  }

  DistillCell train_student(int64_t k, int64_t p) {
    const std::vector<Choice> choices = choose_pictures(*ranking_, k, p);
    DistillCell cell = describe(k, p, choices);
    const std::string name = fmt::format("k{}-p{}", k, p);
    const auto chosen = chosen_set(
        pool_, choices, config_.targets == "soft" ? TargetForm::kSoft : TargetForm::kHard, soft_);
    const LogPoint first = train_once(pretraining(chosen->size()), *chosen, *test_, folder_,
                                      name + "-pretrained", hooks_)
                               .points.back();
    // Same settings as the supervised run but for where it starts and how fast it learns.
    train::TrainConfig config = config_.training;
    config.weights = (folder_ / (name + "-pretrained") / "model.safetensors").string();
    config.learning_rate =
        config_.finetune_rate > 0 ? config_.finetune_rate : config.learning_rate / 10;
    const LogPoint last =
        train_once(config, *labeled_, *test_, folder_, name + "-finetuned", hooks_).points.back();
    cell.pretrained_top1 = first.accuracy;
    cell.top1 = last.accuracy;
    cell.seconds = first.seconds + last.seconds;
    return cell;
  }

  DistillConfig config_;
  fs::path folder_;
  const StudyHooks& hooks_;
  std::unique_ptr<data::Dataset> test_;
  std::shared_ptr<const data::Dataset> labeled_;
  std::shared_ptr<const data::Dataset> pool_;
  std::shared_ptr<const ScoreTable> ranking_;
  std::shared_ptr<const ScoreTable> soft_;
};

}  // namespace

Settings distill_settings(DistillConfig& config) {
  Settings settings;
  settings.add("labeled", &config.labeled, "share of training images whose labels are known");
  settings.add("teacher", &config.teacher,
               "teacher: a network to train on the labeled images, or a trained one (run directory "
               "or ONNX file); empty: the student's network");
  settings.add("teacher_epochs", &config.teacher_epochs, "epochs of the teacher; 0: `epochs`");
  settings.add("pretrain_steps", &config.pretrain_steps,
               "student updates on the chosen images, rounded to whole epochs");
  settings.add(
      "finetune_rate", &config.finetune_rate,
      "learning rate for fine-tuning on the labeled images; 0: a tenth of `learning_rate`");
  settings.add("targets", &config.targets,
               "targets of chosen images: hard (the class it was chosen for) or soft (the "
               "teacher's probabilities)");
  settings.add("teacher_temperature", &config.temperature,
               "temperature of the teacher's soft targets");
  return settings;
}

void check(const DistillConfig& config) {
  train::check(config.training);
  TY_REQUIRE(0 < config.labeled && config.labeled < 1,
             "labeled is {}, expected more than 0 and less than 1 (0.02 is 2 %)", config.labeled);
  TY_REQUIRE(config.teacher_epochs >= 0, "teacher_epochs is {}, expected 0 or more",
             config.teacher_epochs);
  TY_REQUIRE(config.pretrain_steps >= 1, "pretrain_steps is {}, expected 1 or more",
             config.pretrain_steps);
  TY_REQUIRE(config.finetune_rate >= 0, "finetune_rate is {}, expected 0 or more",
             config.finetune_rate);
  TY_REQUIRE(config.temperature > 0, "teacher_temperature is {}, expected more than 0",
             config.temperature);
  TY_REQUIRE(config.targets == "hard" || config.targets == "soft",
             "targets is '{}', expected hard or soft", config.targets);
  TY_REQUIRE(config.training.workers == 1 && config.training.servers == 0,
             "distill trains in one process; leave `workers` and `servers` out");
}

DistillResult distill(const DistillConfig& config, const std::vector<int64_t>& ks,
                      const std::vector<int64_t>& ps, const fs::path& folder,
                      const StudyHooks& hooks) {
  check(config);
  TY_REQUIRE(!ks.empty() && !ps.empty(), "give at least one K and one P");
  Distillation distillation(config, folder, hooks);
  distillation.require_choices(ks, ps);
  // A copy, as settings point to fields that can be written.
  DistillConfig copy = config;
  keep_settings(folder,
                distill_settings(copy).to_yaml() + train::settings_of(copy.training).to_yaml());
  return distillation.run(ks, ps);
}

}  // namespace trainyard::recipes
