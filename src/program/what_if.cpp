#include "program/what_if.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "models/zoo/model.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

// Those that read no file.
constexpr std::array<std::string_view, 15> kFlags = {
    "device", "instance", "stack",   "batch", "precision", "workers", "scaling", "comm",
    "link",   "inside",   "servers", "price", "dataset",   "epochs",  "per-host"};

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

}  // namespace trainyard::cli
