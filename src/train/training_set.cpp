#include "train/training_set.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "data/readable.h"
#include "data/subsets.h"
#include "data/text/token_set.h"
#include "models/network.h"
#include "models/table_input.h"
#include "models/zoo/model.h"
#include "train/objective.h"

namespace trainyard::train {
namespace {

std::unique_ptr<data::Dataset> take(std::unique_ptr<data::Dataset> all, std::vector<int64_t> chosen,
                                    const std::string& how) {
  std::string source =
      fmt::format("{}, {} of {} samples{}", all->source(),
                  with_commas(static_cast<int64_t>(chosen.size())), with_commas(all->size()), how);
  return data::select_samples(std::move(all), std::move(chosen), std::move(source));
}

// Only of what is there: anything else may be a name.
void resolve_path(std::string& path) {
  const std::filesystem::path given(path);
  if (path.empty() || given.is_absolute() || !std::filesystem::exists(given)) return;
  path = std::filesystem::absolute(given).lexically_normal().string();
}

// A number is foretold with a loss of numbers, and such a loss makes one of a target that could be
// a class.
void settle_for_table(TrainConfig& config, const TrainConfig& usual) {
  const bool told = config.data.find(",task=") != std::string::npos;
  const bool number = config.loss == usual.loss ? data::foretells_number(config.data)
                                                : !told && compares_numbers(config.loss);
  if (!number) return;
  if (config.loss == usual.loss) config.loss = kMeanSquareLoss;
  // Said in words, so that a run that goes on finds the same.
  if (!told) config.data += ",task=number";
}

// Of experts (Fedus et al. 2022).
constexpr double kBalanceWeight = 0.01;
constexpr double kUsualHeldOut = 0.1;  // of data without a test split

// What columns mean to a network that was trained on a table before.
std::shared_ptr<const data::TableSchema> known_table(const TrainConfig& config) {
  auto known = network::table_of(network::metadata_of(config.model, config.weights));
  if (!known) return nullptr;
  return std::make_shared<const data::TableSchema>(*std::move(known));
}

// What cannot be read is left out before samples are held out, so that both parts agree on it.
std::unique_ptr<data::Dataset> open_part(const TrainConfig& config, data::Split split,
                                         std::vector<std::string>& skipped) {
  const double share = held_out_share(config);
  // Both parts of one split leave out the same files, which are listed once.
  std::vector<std::string> unlisted;
  std::vector<std::string>& list = share > 0 && split == data::Split::kTest ? unlisted : skipped;
  data::OpenOptions options{.length = config.length};
  if (data::names_rows(config.data)) options.table = known_table(config);
  if (config.skip_bad_files) options.empty_classes = &list;
  auto set = data::open_dataset(config.data, share > 0 ? data::Split::kTrain : split, options);
  if (config.skip_bad_files) set = data::only_readable(std::move(set), list);
  if (share == 0) return set;
  data::Parts parts = data::hold_out(*set, share, static_cast<uint64_t>(config.data_seed));
  if (split == data::Split::kTrain) return take(std::move(set), std::move(parts.kept), "");
  return take(std::move(set), std::move(parts.held_out), " (held out)");
}

}  // namespace

double held_out_share(const TrainConfig& config) {
  if (config.val_split > 0) return config.val_split;
  return data::has_test_split(config.data) ? 0 : kUsualHeldOut;
}

void resolve_paths(TrainConfig& config) {
  if (network::is_path(config.model)) resolve_path(config.model);
  resolve_path(config.weights);
  // KIND:PATH,option=…, a path alone, or a word that may be a name.
  const size_t colon = config.data.find(':');
  const size_t begin = colon == std::string::npos ? 0 : colon + 1;
  const size_t end = std::min(config.data.find(',', begin), config.data.size());
  std::string place = config.data.substr(begin, end - begin);
  const bool word = colon == std::string::npos && place.find('/') == std::string::npos;
  if (word && !data::names_folder_here(place)) return;
  resolve_path(place);
  std::string options;
  for (const std::string& option : split(config.data.substr(end), ',')) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos) {
      options += option.empty() ? "" : "," + option;
      continue;
    }
    const std::string key = option.substr(0, equals);
    std::string value = option.substr(equals + 1);
    if (data::names_file(key)) resolve_path(value);
    options += fmt::format(",{}={}", key, value);
  }
  config.data = config.data.substr(0, begin) + place + options;
}

void settle_for_data(TrainConfig& config) {
  const TrainConfig usual;
  if (data::names_tokens(config.data)) {
    if (config.augment == usual.augment) config.augment = "none";
    if (config.loss == usual.loss && !data::names_option(config.data, "labels")) {
      config.loss = data::names_option(config.data, "spans") ? kSpan : kNextToken;
    }
    const models::ModelDef* const model = models::find_model(config.model);
    if (model != nullptr && model->sizes.experts > 0 &&
        config.auxiliary_weight == usual.auxiliary_weight) {
      config.auxiliary_weight = kBalanceWeight;
    }
  } else if (data::names_rows(config.data)) {
    if (config.augment == usual.augment) config.augment = "none";
    settle_for_table(config, usual);
  } else if (config.augment == usual.augment && data::names_boxes(config.data)) {
    config.augment = config.image > 0 ? fmt::format("ssd:{}", config.image) : "ssd";
  }
}

std::unique_ptr<data::Dataset> open_set(const TrainConfig& config, data::Split split,
                                        std::vector<std::string>& skipped) {
  auto set = open_part(config, split, skipped);
  const auto seed = static_cast<uint64_t>(config.data_seed);
  const bool training = split == data::Split::kTrain;
  if (training && config.long_tail > 0) {
    std::vector<int64_t> chosen = data::choose_long_tail(*set, config.long_tail, seed);
    set = take(std::move(set), std::move(chosen),
               fmt::format(" (long tail of {:.4g})", config.long_tail));
  }
  const int64_t samples = training ? config.train_samples : config.test_samples;
  if (samples > 0) {
    std::vector<int64_t> chosen = data::choose_evenly(*set, samples, seed);
    set = take(std::move(set), std::move(chosen), "");
  }
  if (training && config.label_noise > 0) {
    set = data::with_label_noise(std::move(set), config.label_noise, seed);
  }
  return set;
}

std::unique_ptr<data::Dataset> open_set(const TrainConfig& config, data::Split split) {
  std::vector<std::string> skipped;
  return open_set(config, split, skipped);
}

}  // namespace trainyard::train
