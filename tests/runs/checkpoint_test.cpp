#include "runs/checkpoint.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"
#include "support/file_size_limit.h"
#include "support/temporary_folder.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public ::testing::Test {
 protected:
  static std::vector<StateTensor> state(float value) {
    const auto filled = [value](Shape shape) {
      return [value, shape = std::move(shape)] {
        Tensor tensor(DType::kF32, shape);
        for (float& element : tensor.values<float>()) element = value;
        return tensor;
      };
    };
    return {{"conv.weight", {DType::kF32, Shape{2, 3}}, filled({2, 3})},
            {"optimizer.conv.weight.momentum", {DType::kF32, Shape{2, 3}}, filled({2, 3})},
            {"bn.running_mean", {DType::kF32, Shape{2}}, filled({2})}};
  }
  static std::vector<NamedType> types() {
    std::vector<NamedType> types;
    for (const StateTensor& tensor : state(0)) types.push_back({tensor.name, tensor.type});
    return types;
  }
  static CheckpointInfo at_step(int64_t step) {
    return {.model = "net",
            .config_hash = "c0ffee",
            .epoch = step / 100,
            .epoch_step = step % 100,
            .step = step,
            .samples = step * 64,
            .seed = std::numeric_limits<uint64_t>::max(),
            .values = {{"best", 0.1}, {"loss_sum", 1.0 / 3}}};
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  TemporaryFolder folder_{"checkpoint_test"};
  fs::path path_ = folder_ / "checkpoints";
};

TEST_F(CheckpointTest, ReadsWhatItSaved) {
  CheckpointFolder folder(path_, 2);
  EXPECT_FALSE(folder.latest());
  EXPECT_FALSE(folder.best());
  const fs::path file = folder.save(at_step(123), state(1.5F), /*best=*/false);
  EXPECT_EQ(file, path_ / "step-000123.safetensors");
  EXPECT_EQ(folder.latest(), file);
  EXPECT_FALSE(folder.best());

  const Checkpoint read(file);
  EXPECT_EQ(read.info(), at_step(123));
  read.require_fits("net", "c0ffee", types());
  read.require_fits("net", "", types());
  EXPECT_EQ(read.tensor("conv.weight").values<float>()[5], 1.5F);
}

TEST_F(CheckpointTest, KeepsNumbersThatAreNone) {
  CheckpointInfo info = at_step(1);
  info.values = {{"inf", -std::numeric_limits<double>::infinity()}, {"nan", std::nan("")}};
  const Checkpoint read(CheckpointFolder(path_, 1).save(info, state(0), /*best=*/false));
  EXPECT_EQ(read.info().values.at("inf"), info.values.at("inf"));
  EXPECT_TRUE(std::isnan(read.info().values.at("nan")));
}

TEST_F(CheckpointTest, KeepsTheLastAndTheBest) {
  CheckpointFolder folder(path_, 2);
  for (const int64_t step : {100, 200, 300, 400, 1000000}) {
    folder.save(at_step(step), state(1), /*best=*/step == 200);
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"best.safetensors", "latest.safetensors",
                                               "step-000200.safetensors", "step-000400.safetensors",
                                               "step-1000000.safetensors"}));
  EXPECT_EQ(Checkpoint(*folder.best()).info().step, 200);
  EXPECT_EQ(Checkpoint(path_ / "latest.safetensors").info().step, 1000000);
}

TEST_F(CheckpointTest, GoingOnFromAnEarlierOneLosesNoLaterOne) {
  CheckpointFolder folder(path_, 1);
  folder.save(at_step(500), state(1), /*best=*/false);
  folder.save(at_step(100), state(1), /*best=*/false);
  EXPECT_TRUE(fs::exists(path_ / "step-000500.safetensors"));
  EXPECT_EQ(Checkpoint(*folder.latest()).info().step, 100);
}

TEST_F(CheckpointTest, RemovesWhatAKilledProcessLeft) {
  CheckpointFolder(path_, 1).save(at_step(100), state(1), /*best=*/true);
  write_file(path_ / "step-000200.safetensors.a1B2c3", "half");
  write_file(path_ / "latest.safetensors.new", "");
  write_file(path_ / "notes.txt", "mine");
  const CheckpointFolder again(path_, 1);
  EXPECT_EQ(names(), (std::vector<std::string>{"best.safetensors", "latest.safetensors",
                                               "notes.txt", "step-000100.safetensors"}));
}

TEST_F(CheckpointTest, AFullDiskLeavesTheLastCheckpoint) {
  CheckpointFolder folder(path_, 1);
  const fs::path file = folder.save(at_step(100), state(1), /*best=*/false);
  const auto before = names();
  {
    const FileSizeLimit limit(fs::file_size(file) - 4);
    EXPECT_THROW(folder.save(at_step(200), state(2), /*best=*/true), Failure);
  }
  EXPECT_EQ(names(), before);
  EXPECT_EQ(Checkpoint(*folder.latest()).tensor("conv.weight").values<float>()[0], 1.0F);
}

TEST_F(CheckpointTest, AFolderThatCannotBeIsAFailure) {
  write_file(path_, "a file");
  EXPECT_THROW(CheckpointFolder(path_, 1), Failure);
  EXPECT_THROW(CheckpointFolder(folder_.path() / "other", 0), Error);
}

TEST_F(CheckpointTest, NamesTheFirstDifferencesOfAnotherModel) {
  const Checkpoint read(CheckpointFolder(path_, 1).save(at_step(1), state(0), /*best=*/false));
  std::vector<NamedType> other = types();
  other[0].type.shape = Shape{4, 3};
  other[1].name = "fc.weight";
  for (int i = 0; i < 5; ++i) other.push_back({"layer" + std::to_string(i), other[0].type});
  const std::string message = message_of([&] { read.require_fits("lenet", "c0ffee", other); });
  for (const char* part : {"step-000001.safetensors: a checkpoint of model 'net'", "fit 'lenet'",
                           "'conv.weight' is f32[2,3], expected f32[4,3]",
                           "'fc.weight' f32[2,3] is missing", "and 3 more"}) {
    EXPECT_NE(message.find(part), std::string::npos) << part << "\n" << message;
  }
  EXPECT_NE(message_of([&] { read.require_fits("net", "other", types()); }).find("other settings"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read.require_fits("lenet", "", types()); }).find("fit 'lenet'"),
            std::string::npos);
}

TEST_F(CheckpointTest, RefusesOtherAndBrokenFiles) {
  const fs::path file = CheckpointFolder(path_, 1).save(at_step(1), state(0), /*best=*/false);
  const std::string whole = read_file(file);
  write_file(file, whole.substr(0, whole.size() - 1));
  EXPECT_NE(message_of([&] { Checkpoint{file}; }).find("behind the end of the file"),
            std::string::npos);
  std::string negative = whole;
  negative.replace(negative.find("\"step\":\"1\""), 10, "\"step\":\"x\"");
  write_file(file, negative);
  EXPECT_NE(message_of([&] { Checkpoint{file}; }).find("'step' of the checkpoint is 'x'"),
            std::string::npos);
  SafetensorsWriter(file, {}, {}).commit();
  EXPECT_NE(message_of([&] { Checkpoint{file}; }).find("without 'kind'"), std::string::npos);
  EXPECT_THROW(Checkpoint(path_ / "missing"), Error);
}

}  // namespace
}  // namespace trainyard::runs
