// What a job trains, for the prediction of its time.
#include <charconv>
#include <map>

#include "base/checked.h"
#include "base/text.h"
#include "cluster/jobs/plan.h"

namespace trainyard::jobs {
namespace {

int64_t integer_of(const std::string& text) {
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// Images of an epoch of the data sets that are known by name, or that say it.
int64_t images_of(const std::string& data) {
  static const std::map<std::string, int64_t> kKnown = {{"cifar10", 50000},
                                                        {"cifar100", 50000},
                                                        {"mnist", 60000},
                                                        {"fashion-mnist", 60000},
                                                        {"imagenet", 1281167}};
  const std::string name = data.substr(0, data.find(':'));
  if (const auto found = kKnown.find(name); found != kKnown.end()) return found->second;
  const size_t size = data.find("size=");
  return size == std::string::npos ? 0 : integer_of(data.substr(size + 5));
}

}  // namespace

std::optional<Workload> workload_of(const Job& job) {
  Workload workload = job.workload.value_or(Workload{});
  const std::vector<std::string>& words = job.command;
  const bool ours = words.size() > 2 && words[0].ends_with("trainyard") && words[1] == "train";
  // As trainyard train has them.
  constexpr int64_t kDefaultBatch = 128;
  constexpr double kDefaultEpochs = 5;
  Workload said;
  if (ours) {
    for (size_t i = 2; i + 1 < words.size(); ++i) {
      const std::string& value = words[i + 1];
      if (words[i] == "--model") said.model = value;
      if (words[i] == "--batch") said.batch = integer_of(value);
      if (words[i] == "--batch-per-worker") {
        said.batch = checked_product({integer_of(value), job.processes()});
      }
      if (words[i] == "--epochs") said.epochs = static_cast<double>(integer_of(value));
      if (words[i] == "--data") said.images = images_of(value);
    }
  }
  if (workload.model.empty()) workload.model = said.model;
  if (workload.batch == 0) workload.batch = said.batch > 0 ? said.batch : kDefaultBatch;
  if (workload.epochs == 0) workload.epochs = said.epochs > 0 ? said.epochs : kDefaultEpochs;
  if (workload.images == 0) workload.images = said.images;
  if (workload.model.empty() || workload.images == 0) return std::nullopt;
  return workload;
}

}  // namespace trainyard::jobs
