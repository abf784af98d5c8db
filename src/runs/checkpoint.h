// Checkpoints of a run: every tensor that a step changes and where the run stands, in one
// safetensors file that appears whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "runs/safetensors.h"
#include "tensor/tensor.h"

namespace trainyard::runs {

// Names of optimizer state begin so; everything else in a checkpoint are the model's own
// parameters and statistics, under their own names.
constexpr std::string_view kOptimizerPrefix = "optimizer.";

constexpr std::string_view kNotePrefix = "trainyard.";

// Where a run stands.
struct CheckpointInfo {
  std::string model;
  std::string config_hash;  // of the settings that decide the numbers
  int64_t epoch = 0;        // whole epochs done
  int64_t epoch_step = 0;   // steps done of the epoch that is under way
  int64_t step = 0;         // all steps done
  int64_t samples = 0;      // all images seen
  uint64_t seed = 0;
  // Whatever else a resumed run needs unchanged (sums of the epoch, the best accuracy): kept bit by
  // bit, NaN and infinities too.
  std::map<std::string, double> values;
  // What those need to know who take the weights elsewhere. Names begin with kNotePrefix.
  std::map<std::string, std::string> notes = {};

  bool operator==(const CheckpointInfo&) const = default;
};

// One tensor to save; `read` is called for its check sum and again when its turn to be written
// comes, and gives the same both times.
struct StateTensor {
  std::string name;
  TensorType type;
  std::function<Tensor()> read;
};

// A checkpoint file, open for reading.
class Checkpoint {
 public:
  // Throws Error if it is not a whole checkpoint.
  explicit Checkpoint(const std::filesystem::path& path);

  const CheckpointInfo& info() const { return info_; }
  // Throws Error with the first differences unless this is a checkpoint of exactly these tensors
  // and, where `config_hash` is not empty, of these settings.
  void require_fits(std::string_view model, std::string_view config_hash,
                    std::span<const NamedType> state) const;
  bool has(std::string_view name) const { return file_.find(name) != nullptr; }
  // Read-only, as SafetensorsFile::tensor.
  Tensor tensor(std::string_view name) const { return file_.tensor(name); }

 private:
  SafetensorsFile file_;
  CheckpointInfo info_;
};

// What is missing from, differs in and is too much in a file that should hold `expected`; one
// phrase per tensor.
std::vector<std::string> tensor_differences(const SafetensorsFile& file,
                                            std::span<const NamedType> expected);

// The folder of a run's checkpoints: step-000100.safetensors and so on, and the links
// latest.safetensors and best.safetensors.
class CheckpointFolder {
 public:
  // Creates the folder and removes what a killed process left unfinished. The last `keep_last`
  // checkpoints and the best are kept. Throws Failure if the folder cannot be written.
  CheckpointFolder(std::filesystem::path folder, int64_t keep_last);

  // Returns the file. Throws Failure if it cannot be written; the older ones are then still there
  // and `latest` is one of them.
  std::filesystem::path save(const CheckpointInfo& info, std::span<const StateTensor> state,
                             bool best);

  std::optional<std::filesystem::path> latest() const { return linked("latest.safetensors"); }
  std::optional<std::filesystem::path> best() const { return linked("best.safetensors"); }

 private:
  std::optional<std::filesystem::path> linked(std::string_view link) const;
  void remove_old(int64_t newest_step) const;

  std::filesystem::path folder_;
  int64_t keep_last_;
};

}  // namespace trainyard::runs
