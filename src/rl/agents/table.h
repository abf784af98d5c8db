// Values of states and actions as a table, for environments of few states.
#pragma once

#include <filesystem>
#include <vector>

#include "rl/agents/evaluation.h"
#include "rl/agents/run.h"

namespace trainyard::rl {

class QTable {
 public:
  QTable(int64_t cells, int64_t actions);

  std::span<const float> row(int64_t cell) const;
  // One step of learning: towards reward + discount * next. The step size is
  // step_size / visits^decay. Gives the change of the value.
  double learn(int64_t cell, int32_t action, double target, double step_size, double decay);

  const std::vector<double>& values() const { return values_; }

  Json json() const;
  // Throws Error unless it has a value for each cell and action of the environment.
  static QTable from_json(const Json& json, const EnvSpec& spec);

 private:
  size_t place(int64_t cell, int32_t action) const;

  int64_t actions_;
  std::vector<float> shown_;  // values_, as policies take them
  std::vector<double> values_;
  std::vector<int64_t> visits_;
};

MakePolicy table_policy(const QTable& table);
// Throws Error if the file is missing or is no table for this environment.
MakePolicy table_policy(const std::filesystem::path& file, const EnvSpec& spec);

}  // namespace trainyard::rl
