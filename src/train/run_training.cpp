#include "train/run_training.h"

#include <algorithm>

#include "analysis/parameters.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/sampler.h"
#include "data/text/token_set.h"
#include "models/hugging_face.h"
#include "models/network.h"
#include "models/onnx/metadata.h"
#include "runs/settings_view.h"
#include "train/run_parts.h"
#include "train/training_network.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

std::string lines_of(std::span<const std::string> words) {
  return join(std::vector<std::string>(words.begin(), words.end()), "\n") + "\n";
}

// Beside the weights, so that the run can read and write texts wherever it is taken.
void keep_tokenizer(const data::TokenFacts& facts, const std::filesystem::path& folder) {
  if (facts.tokenizer.empty() || facts.tokenizer == data::kByteTokens) return;
  const std::filesystem::path from = facts.tokenizer;
  write_file(folder / from.filename(),
             facts.tokenizer_json.empty() ? read_file(from) : facts.tokenizer_json + "\n");
}

// What a prediction of the run must know besides its settings, which may leave it to the data.
void note_sample(const runs::RunDirectory& directory, const Graph& model,
                 const data::Dataset& training) {
  const Shape& input = model.value(model.inputs()[0]).type.shape;
  Json facts = report::read_machine(directory.path());
  facts["input"] = Json::array_of(input.dims().subspan(1));
  facts["classes"] = training.num_classes();
  write_file(directory.path() / "machine.json", facts.dump() + "\n");
}

}  // namespace

StartingNetwork starting_network(const TrainConfig& config, const data::Dataset& training,
                                 int64_t rank) {
  const int64_t share =
      data::share_of(config.batch, std::min(rank, config.workers - 1), config.workers);
  StartingNetwork start{
      .graph = build_training_network(config, training, copies_at_once(config) * share),
      .drawn = {}};
  if (!config.weights.empty()) {
    start.drawn = network::load_matching_weights(start.graph, config.weights);
  }
  return start;
}

std::string untrained_note(const Graph& model) {
  constexpr size_t kShown = 5;
  const std::vector<ValueId> fixed = analysis::search_parameters(model).fixed;
  if (fixed.empty()) return "";
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(fixed.size(), kShown); ++i) {
    const Value& value = model.value(fixed[i]);
    names.push_back(fmt::format("'{}' {}", value.name, value.type.to_string()));
  }
  if (fixed.size() > kShown) names.push_back(fmt::format("and {} more", fixed.size() - kShown));
  return fmt::format("not trained, as constants and no weights: {}", join(names, ", "));
}

runs::RunDirectory begin_or_resume(const std::filesystem::path& folder, const std::string& name,
                                   const TrainConfig& config) {
  const std::filesystem::path path = folder / name;
  if (std::filesystem::exists(path / "config.yaml")) {
    return runs::RunDirectory::resume(folder, path.string());
  }
  std::filesystem::remove_all(path);
  return runs::RunDirectory::create(folder, name, config.model, config.data);
}

TrainingRun::TrainingRun(const TrainingParts& subject, dist::Communicator& comm,
                         std::string_view version)
    : subject_(subject), comm_(comm) {
  if (subject.config.servers > 0) return;
  trainer_ = std::make_unique<Trainer>(subject.task, subject.config, subject.model,
                                       subject.training, subject.test, comm, version);
}

std::string TrainingRun::memory_note() const {
  if (trainer_ == nullptr) return "";
  const auto text = [](int64_t bytes) { return bytes_text(static_cast<double>(bytes)); };
  std::string note = "a step takes " + text(trainer_->memory().total());
  const std::optional<MemoryFit>& fit = trainer_->memory_fit();
  if (fit && fit->again.blocks > 0) {
    note += fmt::format(", not {}: {} of {} blocks are recomputed, {:.1f} % more operations",
                        text(fit->kept.total()), fit->again.blocks, fit->again.possible,
                        100 * fit->more_flops);
  }
  return note;
}

ServerTrainResult TrainingRun::run(const runs::RunDirectory* directory, TrainHooks hooks,
                                   std::span<const std::string> skipped) {
  const auto& [config, training, test, model, task] = subject_;
  if (directory != nullptr) {
    note_sample(*directory, model, training);
    TrainConfig written = config;
    write_file(directory->config(), settings_of(written).to_yaml());
    if (training.tokens()) {
      keep_tokenizer(*training.tokens(), directory->path());
    } else if (training.num_classes() > 0) {
      write_file(directory->path() / "classes.txt", lines_of(training.class_names()));
    }
    if (!skipped.empty()) write_file(directory->path() / "skipped.txt", lines_of(skipped));
    hooks.metadata = metadata_of_training(training, data::Augmentations(config.augment, training));
    network::note_form(model, network::metadata_of(config.model), hooks.metadata);
  }
  if (names_shapes(config.priors)) hooks.metadata[onnx_io::kPriorsKey] = config.priors;
  if (trainer_ != nullptr) return {trainer_->run(directory, hooks), {}, {}};
  return train_with_servers(task, comm_, config, model, training, test, directory, hooks);
}

}  // namespace trainyard::train
