// Language models in the training loop: they learn, several workers give what one gives, and a run
// goes on bit by bit inside an epoch.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "data/sampler.h"
#include "data/text/token_set.h"
#include "dist/threads.h"
#include "models/network.h"
#include "models/zoo/model.h"
#include "runs/safetensors.h"
#include "support/temporary_folder.h"
#include "train/token_evaluator.h"
#include "train/trainer.h"
#include "train/training_network.h"
#include "train/training_set.h"
#include "train/worker_options.h"

namespace trainyard::train {
namespace {

constexpr float kReordered = 2e-5F;  // sums in another order, some updates later

// Words of three letters in random order, each behind token 0: what follows a letter within a word
// can be learned.
void write_tokens(const std::filesystem::path& path) {
  std::vector<uint16_t> ids;
  for (uint64_t i = 0; i < 600; ++i) {
    const auto word = static_cast<uint16_t>(RandomStream(5).below(i, 3));
    ids.push_back(0);
    for (uint16_t letter = 0; letter < 3; ++letter) {
      ids.push_back(static_cast<uint16_t>(1 + 3 * word + letter));
    }
  }
  write_file(path, {reinterpret_cast<const char*>(ids.data()), 2 * ids.size()});
}

class LanguageModel : public testing::Test {
 protected:
  LanguageModel() { write_tokens(folder_.path() / "text.bin"); }

  TrainConfig tiny(const std::string& model, const std::string& options = "") const {
    TrainConfig config;
    config.model = model;
    config.data = "tokens:" + (folder_.path() / "text.bin").string() + options;
    config.length = 12;
    config.layers = 2;
    config.hidden = 16;
    config.heads = 2;
    config.inner = 32;
    config.dropout = 0;
    config.optimizer = "adamw";
    config.learning_rate = 0.01;
    config.epochs = 2;
    config.batch = 12;
    config.threads = 1;
    config.stall_warning = 0;
    config.wait_limit = 20;
    settle_for_data(config);
    return config;
  }

  // Adam's steps are as large for a gradient that is nothing but rounding.
  static TrainConfig gentle(TrainConfig config) {
    config.optimizer = "sgd";
    config.learning_rate = 0.1;
    return config;
  }

  struct Finished {
    TrainResult result;
    std::vector<float> weights;
  };
  // In a directory of this name, which may be there already: then the run goes on.
  Finished train(const std::string& name, const TrainConfig& config, int64_t stop_after = 0) const {
    const bool again = std::filesystem::exists(folder_.path() / name);
    const auto directory =
        again ? runs::RunDirectory::resume(folder_.path(), name)
              : runs::RunDirectory::create(folder_.path(), name, config.model, "text");
    TrainConfig written = config;
    write_file(directory.config(), settings_of(written).to_yaml());
    Finished run;
    dist::run_in_threads({.ranks = config.workers}, [&](dist::Communicator& comm) {
      const auto training = open_set(config, data::Split::kTrain);
      const auto test = open_set(config, data::Split::kTest);
      const Graph model = build_training_network(
          config, *training, data::share_of(config.batch, comm.rank(), comm.size()));
      TrainHooks hooks;
      int64_t steps = 0;
      if (comm.rank() == 0) hooks.should_stop = [&] { return ++steps == stop_after; };
      TrainResult mine = Trainer(config, model, *training, *test, comm)
                             .run(comm.rank() == 0 ? &directory : nullptr, hooks);
      if (comm.rank() == 0) run.result = std::move(mine);
    });
    if (run.result.interrupted) return run;
    const runs::SafetensorsFile file(directory.path() / "model.safetensors");
    for (const runs::StoredTensor& stored : file.tensors()) {
      const Tensor tensor = file.tensor(stored.name);
      const auto values = tensor.values<float>();
      run.weights.insert(run.weights.end(), values.begin(), values.end());
    }
    return run;
  }

  static float difference(const Finished& a, const Finished& b) {
    EXPECT_EQ(a.weights.size(), b.weights.size());
    float most = 0;
    for (size_t i = 0; i < a.weights.size(); ++i) {
      most = std::max(most, std::abs(a.weights[i] - b.weights[i]));
    }
    return most;
  }

  TemporaryFolder folder_{"language_model"};
};

// Two of four tokens are certain, one is one of three: a mean of log(3) / 4 is the best there is.
TEST_F(LanguageModel, LearnsWhatCanBeLearned) {
  for (const char* name : {"gpt-nano", "llama"}) {
    TrainConfig config = tiny(name, ",bytes=2");
    config.epochs = 12;
    const Finished run = train(name, config);
    const Evaluation& test = run.result.epochs.back().test;
    EXPECT_LT(test.score("loss"), std::log(3.0) / 4 + 0.1) << name;
    EXPECT_NEAR(test.score("perplexity"), std::exp(test.score("loss")), 1e-9);
    EXPECT_NEAR(test.score("bits_per_byte"), test.score("loss") / std::numbers::ln2 / 2, 1e-9);
    EXPECT_EQ(run.result.epochs.back().tokens, 12);
    // The file has no operator that is younger than it, and says the same.
    const auto rows = open_set(config, data::Split::kTest);
    data::Loader loader(*rows, {.batch = 5});
    const Evaluation again = evaluate(
        network::load({.model = (folder_.path() / name).string(), .batch = 5}), loader,
        [](Graph& model) { return make_token_evaluator(model, 0); }, 1);
    EXPECT_NEAR(again.score("loss"), test.score("loss"), 1e-5) << name;
  }
}

TEST_F(LanguageModel, FindsHiddenTokens) {
  TrainConfig config = tiny("bert-tiny");
  config.loss = kMaskedToken;
  config.epochs = 12;
  const Finished run = train("bert", config);
  EXPECT_LT(run.result.epochs.back().train_loss, 0.7 * run.result.epochs.front().train_loss);
  EXPECT_EQ(find_score(run.result.epochs[0].test.scores, "bits_per_byte"), nullptr);
}

// Rows of one word each, to be told apart.
TEST_F(LanguageModel, ClassifiesRows) {
  std::vector<uint16_t> ids;
  std::vector<uint16_t> labels;
  for (uint64_t i = 0; i < 240; ++i) {
    labels.push_back(static_cast<uint16_t>(RandomStream(6).below(i, 2)));
    const uint64_t place = RandomStream(7).below(i, 6);
    for (uint64_t k = 0; k < 6; ++k) {
      ids.push_back(static_cast<uint16_t>(k == place ? 3 + labels.back() : i % 3));
    }
  }
  const auto write = [&](const char* name, const std::vector<uint16_t>& values) {
    write_file(folder_.path() / name,
               {reinterpret_cast<const char*>(values.data()), 2 * values.size()});
    return (folder_.path() / name).string();
  };
  TrainConfig config = tiny("bert-tiny");
  config.data = "tokens:" + write("rows.bin", ids) + ",labels=" + write("labels.bin", labels);
  config.length = 6;
  config.loss = "cross-entropy";
  config.epochs = 20;
  settle_for_data(config);
  EXPECT_GT(train("classes", config).result.epochs.back().test.score("top1"), 0.95);
}

TEST_F(LanguageModel, AnyNumberOfWorkersGivesWhatOneGives) {
  for (const char* options : {"", ",end=0"}) {
    for (const char* name : {"gpt-nano", "llama"}) {
      TrainConfig config = gentle(tiny(name, options));
      const Finished one = train(std::string("one") + name + options, config);
      for (const int64_t workers : {2, 5}) {
        config.workers = workers;
        const Finished many = train(fmt::format("{}{}{}", workers, name, options), config);
        EXPECT_LT(difference(one, many), kReordered) << name << workers;
        EXPECT_NEAR(one.result.epochs[1].test.score("loss"),
                    many.result.epochs[1].test.score("loss"), 1e-5);
      }
    }
  }
}

// Which places are dropped does not depend on how many workers share a batch.
TEST_F(LanguageModel, AnyNumberOfWorkersDropsWhatOneDrops) {
  for (const char* name : {"gpt-nano", "bert-tiny"}) {
    TrainConfig config = gentle(tiny(name));
    if (config.model == "bert-tiny") config.loss = kMaskedToken;
    config.dropout = 0.2;
    const Finished one = train(std::string("one dropped") + name, config);
    for (const int64_t workers : {2, 3}) {
      config.workers = workers;
      const Finished many = train(fmt::format("{} dropped {}", workers, name), config);
      EXPECT_LT(difference(one, many), kReordered) << name << workers;
      EXPECT_NEAR(one.result.epochs[1].train_loss, many.result.epochs[1].train_loss, 1e-6);
    }
  }
}

TEST_F(LanguageModel, GoesOnBitByBitInsideAnEpoch) {
  TrainConfig config = tiny("gpt-nano", ",end=0");
  config.dropout = 0.1;
  const Finished whole = train("whole", config);
  ASSERT_GT(whole.result.steps, 7);
  EXPECT_TRUE(train("parts", config, 3).result.interrupted);
  EXPECT_TRUE(train("parts", config, 4).result.interrupted);
  EXPECT_EQ(train("parts", config).weights, whole.weights);
  // Nothing of the order depends on how many share it, so others may go on.
  config = gentle(tiny("gpt-nano", ",end=0"));
  const Finished alone = train("alone", config);
  EXPECT_TRUE(train("moved", config, 5).result.interrupted);
  config.workers = 3;
  EXPECT_LT(difference(train("moved", config), alone), kReordered);
}

TEST_F(LanguageModel, RefusesWhatDoesNotGoTogether) {
  const auto message = [&](const TrainConfig& config) -> std::string {
    try {
      train("refused", config);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing is wrong";
  };
  TrainConfig config = tiny("gpt-nano");
  config.loss = "huber";
  EXPECT_NE(message(config).find("the data is text"), std::string::npos);
  config = tiny("lenet5");
  EXPECT_NE(message(config).find("reads images"), std::string::npos);
  config = tiny("gpt2-small");
  config.length = 1025;
  config.data += ",test=0.5";
  EXPECT_NE(message(config).find("texts of 1025 tokens are not possible"), std::string::npos);
  config = tiny("gpt-nano");
  config.heads = 3;
  EXPECT_NE(message(config).find("cannot be cut into 3 heads"), std::string::npos);
  config = tiny("gpt-nano");
  config.augment = "flip";
  EXPECT_NE(message(config).find("texts take no steps"), std::string::npos);
}

}  // namespace
}  // namespace trainyard::train
