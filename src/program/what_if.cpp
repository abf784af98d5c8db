#include "program/what_if.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "models/zoo/model.h"
#include "program/command.h"
#include "program/kept_predictions.h"

namespace trainyard::cli {
namespace {

// Those that read no file.
constexpr std::array<std::string_view, 15> kFlags = {
    "device", "instance", "stack",   "batch", "precision", "workers", "scaling", "comm",
    "link",   "inside",   "servers", "price", "dataset",   "epochs",  "per-host"};

constexpr size_t kMostKept = 1000;

// A word of its own, so that no value is taken for a flag.
std::string flag_word(const std::string& name, const std::string& value) {
  const std::vector<std::string> known(kFlags.begin(), kFlags.end());
  TY_REQUIRE(std::find(known.begin(), known.end(), name) != known.end(),
             "'{}' is nothing a prediction is asked by here.{}", name, did_you_mean(name, known));
  return "--" + name + "=" + value;
}

// Files are not for those who only look.
void require_built_in(const std::string& model) {
  if (models::find_model(model) != nullptr) return;
  std::vector<std::string> names;
  for (const models::ModelDef* one : models::all_models()) names.emplace_back(one->name);
  throw_error("'{}' is no built-in network.{}", model, did_you_mean(model, names));
}

// The flags of predict that go with settings of a training; those that stand at "none" are left
// out.
std::vector<std::string> words_of(const Json& settings, const std::string& device) {
  std::vector<std::string> words = {"predict", settings.at("model").as_string(), "--json",
                                    "--device=" + device, "--scaling=strong"};
  for (const char* name : {"batch", "workers", "image"}) {
    const Json* value = settings.find(name);
    if (value == nullptr || !value->is_int() || value->as_int() < 1) continue;
    words.push_back(fmt::format("--{}={}", name, value->as_int()));
  }
  return words;
}

Json step_of(const Json& row) {
  const auto number = [&](std::string_view name) {
    const Json* value = row.find(name);
    return value != nullptr && value->is_number() ? value->as_number() : 0.0;
  };
  return Json::object(
      {{"step_ms", number("step_ms")},
       {"input_ms", number("input_ms")},
       {"exposed_ms", number("exposed_comm_ms") + number("waiting_ms")},
       {"compute_ms", number("forward_ms") + number("backward_ms") + number("update_ms")},
       {"memory_bytes", number("memory_bytes")}});
}

}  // namespace

std::string predict_json(const std::map<std::string, std::string>& query) {
  const auto model = query.find("model");
  TY_REQUIRE(model != query.end(), "model is missing: expected the name of a built-in network");
  require_built_in(model->second);
  std::vector<std::string> words = {"predict", model->second, "--json"};
  for (const auto& [name, value] : query) {
    if (name == "model") continue;
    if (name == "inference") {
      words.emplace_back("--inference");
    } else {
      words.push_back(flag_word(name, value));
    }
  }
  std::ostringstream out;
  std::ostringstream problem;
  if (run_program(words, out, problem) == 0) return out.str();
  throw_error("{}", problem.str());
}

Json predict_run(const Json& settings, const std::string& device) {
  const Json* model = settings.find("model");
  if (model == nullptr || !model->is_string()) return {};
  if (models::find_model(model->as_string()) == nullptr) return {};
  // Runs of a study differ in what does not change a step.
  static std::map<std::vector<std::string>, Json> kept;
  static std::shared_ptr<const predict::Catalog> basis;
  const std::shared_ptr<const predict::Catalog> known = kept_catalog({});
  if (std::exchange(basis, known) != known) kept.clear();
  const std::vector<std::string> words = words_of(settings, device);
  if (const auto found = kept.find(words); found != kept.end()) return found->second;
  if (kept.size() >= kMostKept) kept.clear();
  std::ostringstream out;
  std::ostringstream problem;
  Json step;
  if (run_program(words, out, problem) == 0) {
    step = step_of(Json::parse(out.str(), "a prediction").at("rows").items().at(0));
  }
  return kept.emplace(words, std::move(step)).first->second;
}

}  // namespace trainyard::cli
