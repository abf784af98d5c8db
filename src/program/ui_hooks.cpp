#include "program/ui_hooks.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "data/dataset.h"
#include "data/image.h"
#include "http/url.h"
#include "models/zoo/model.h"
#include "program/command.h"
#include "program/kept_predictions.h"
#include "program/lab/cell_states.h"
#include "program/lab/listings.h"
#include "program/model_picture.h"
#include "program/ui_process.h"
#include "runs/growing_file.h"
#include "runs/test_predictions.h"
#include "serve/load/load_client.h"
#include "train/train_config.h"
#include "train/training_set.h"

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

int64_t count_of(const Json& facts, std::string_view name) {
  const Json* value = facts.find(name);
  return value != nullptr && value->is_int() ? value->as_int() : 0;
}

// The flags of predict for the sample that `machine` (machine.json) says the network reads, or else
// for the settings. No value: predict has none for such a network.
std::optional<std::vector<std::string>> sample_words(const Json& settings, const Json& machine,
                                                     const models::ModelDef& model) {
  for (const char* name : {"layers", "hidden", "heads", "kv_heads", "inner", "experts"}) {
    if (count_of(settings, name) > 0) return std::nullopt;
  }
  const Json* input = machine.find("input");
  const size_t rank = input != nullptr ? input->items().size() : 0;
  if (rank == 1 && model.length == 0) return std::nullopt;
  std::vector<std::string> words;
  const auto add = [&](std::string_view flag, int64_t value) {
    if (value > 0) words.push_back(fmt::format("--{}={}", flag, value));
  };
  if (model.length > 0) {
    add("length", rank == 1 ? input->items()[0].as_int() : count_of(settings, "length"));
    return words;
  }
  add("image", rank == 3 ? input->items()[1].as_int() : count_of(settings, "image"));
  const int64_t chosen = count_of(settings, "classes");
  if (model.classes > 0) add("classes", chosen > 0 ? chosen : count_of(machine, "classes"));
  const Json* width = settings.find("width");
  if (model.has_width && width != nullptr && width->is_number()) {
    words.push_back(fmt::format("--width={}", width->as_number()));
  }
  return words;
}

// The flags of predict that go with a training; settings that stand at "none" are left out.
std::optional<std::vector<std::string>> words_of(const Json& settings, const Json& machine,
                                                 const models::ModelDef& model,
                                                 const std::string& device) {
  auto words = sample_words(settings, machine, model);
  if (!words) return words;
  words->insert(words->begin(), {"predict", std::string(model.name), "--json", "--device=" + device,
                                 "--scaling=strong"});
  const int64_t batch = count_of(settings, "batch");
  const int64_t copies = std::max<int64_t>(1, count_of(settings, "batch_augment"));
  if (batch > 0) words->push_back(fmt::format("--batch={}", batch * copies));
  const int64_t workers = count_of(settings, "workers");
  if (workers > 0) words->push_back(fmt::format("--workers={}", workers));
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

// `model` is the name of a built-in network; the others are flags of predict without hyphens in
// front, as device=v100. Throws Error for a name that is no such flag, for one that would read a
// file, and for what predict refuses.
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

// A step of a training with these settings (config.yaml) and facts (machine.json) on a device of
// the catalog: "step_ms", "input_ms", "exposed_ms", "compute_ms" and "memory_bytes", all predicted.
// Null for networks that predict cannot build from flags, and where the device is not known.
Json predict_run(const Json& settings, const Json& machine, const std::string& device) {
  const Json* name = settings.find("model");
  if (name == nullptr || !name->is_string()) return {};
  const models::ModelDef* model = models::find_model(name->as_string());
  if (model == nullptr) return {};
  // Runs of a study differ in what does not change a step.
  static std::map<std::vector<std::string>, Json> kept;
  static std::shared_ptr<const predict::Catalog> basis;
  const std::shared_ptr<const predict::Catalog> known = kept_catalog({});
  if (std::exchange(basis, known) != known) kept.clear();
  const auto words = words_of(settings, machine, *model, device);
  if (!words) return {};
  if (const auto found = kept.find(*words); found != kept.end()) return found->second;
  if (kept.size() >= kMostKept) kept.clear();
  std::ostringstream out;
  std::ostringstream problem;
  Json step;
  if (run_program(*words, out, problem) == 0) {
    step = step_of(Json::parse(out.str(), "a prediction").at("rows").items().at(0));
  }
  return kept.emplace(*words, std::move(step)).first->second;
}

// The pictures behind a cell of a run's confusion matrix.
namespace fs = std::filesystem;

constexpr size_t kMostGuesses = 48;
constexpr int64_t kLargestSide = 160;
constexpr int64_t kMostText = 1 << 20;

// The data set of the last run that was asked for: clicks come one after the other.
const data::Dataset& test_set_of(const fs::path& run) {
  static std::string kept_settings;
  static std::unique_ptr<data::Dataset> kept;
  const fs::path config = run / "config.yaml";
  const std::string text = read_file(config, kMostText);
  if (kept == nullptr || text != kept_settings) {
    train::TrainConfig settings;
    train::settings_of(settings).read_yaml(text, config.string());
    kept.reset();
    kept = train::open_set(settings, data::Split::kTest);
    kept_settings = text;
  }
  return *kept;
}

Json picture_json(const data::Dataset& set, int64_t sample) {
  data::Pixels room;
  data::Image image = data::to_image(set.pixels(sample, room));
  const int64_t longer = std::max(image.height, image.width);
  if (longer > kLargestSide) {
    image = data::resize(image, std::max<int64_t>(1, image.height * kLargestSide / longer),
                         std::max<int64_t>(1, image.width * kLargestSide / longer));
  }
  return Json::object({{"sample", sample},
                       {"name", printable_line(set.sample_name(sample))},
                       {"png", to_base64(data::encode_png(image))}});
}

// {"step", "count", "pictures": [{"sample", "name", "png"}, …]}: how many samples of class `truth`
// the run took for `guess` in its last test, and the first of them as PNG files in base64, from the
// data set that its settings name. Throws Error where the run recorded no guesses or its data are
// not there.
Json guessed_pictures(const fs::path& run, int64_t truth, int64_t guess) {
  const runs::TestPredictions guesses = runs::read_test_predictions(run);
  TY_REQUIRE(!guesses.all.empty(),
             "the run did not record what it took its samples for; `trainyard train` does");
  const data::Dataset& set = test_set_of(run);
  TY_REQUIRE(!set.tokens(), "the samples are texts");
  int64_t count = 0;
  Json::Array pictures;
  for (const runs::SamplePrediction& one : guesses.all) {
    if (one.truth != truth || one.guess != guess) continue;
    TY_REQUIRE(one.sample >= 0 && one.sample < set.size() && set.label(one.sample) == truth,
               "the data set is another than that of the run: sample {}", one.sample);
    ++count;
    if (pictures.size() < kMostGuesses) pictures.push_back(picture_json(set, one.sample));
  }
  return Json::object(
      {{"step", guesses.step}, {"count", count}, {"pictures", std::move(pictures)}});
}

// What the page of `trainyard ui` asks of a server of `trainyard serve`.
constexpr int kFine = 200;
constexpr std::chrono::seconds kSoon{2};
constexpr std::chrono::seconds kInTime{20};  // for a slow model

std::string reason_in(const std::string& body) {
  try {
    return printable_line(Json::parse(body, "an answer").at("error").as_string());
  } catch (const Error&) {
    return "the server says no";
  }
}

std::string ask_server(const std::string& server, const std::string& method,
                       const std::string& path, const std::string& body,
                       std::chrono::seconds patience) {
  try {
    const serve::Address address = serve::parse_url(server);
    const bool json = body.empty() || body.front() == '{';
    const std::string headers =
        fmt::format("Content-Type: application/{}\r\n", json ? "json" : "octet-stream");
    const serve::Fetched got =
        serve::fetch(address, serve::http_message(method, path, address, headers, body), patience);
    TY_REQUIRE(got.status == kFine, "{}", reason_in(got.body));
    return got.body;
  } catch (const Failure& failure) {
    throw_error("{}", failure.what());
  }
}

// Its models, statistics and metrics, as JSON; {"address": null} for an empty `server`. Throws
// Error for one that does not answer.
std::string asked_server(const std::string& server) {
  if (server.empty()) return Json::object({{"address", nullptr}}).dump(-1);
  const auto ask = [&](const char* method, const char* path) {
    return ask_server(server, method, path, std::string(method) == "POST" ? "{}" : "", kSoon);
  };
  return Json::object(
             {{"address", server},
              {"models", Json::parse(ask("POST", "/v2/repository/index"), "the server's models")},
              {"stats", Json::parse(ask("GET", "/v2/models/stats"), "the server's statistics")},
              {"metrics", ask("GET", "/metrics")}})
      .dump(-1);
}

// What a model takes and gives, or with a body its answer to that: JSON, or a picture. Throws Error
// with what the server says is wrong.
std::string asked_model(const std::string& server, const std::string& model,
                        const std::map<std::string, std::string>& query, const std::string& body) {
  TY_REQUIRE(!server.empty(), "no server was named; start this page with --server");
  const std::string path = "/v2/models/" + serve::url_encode(model);
  if (body.empty()) return ask_server(server, "GET", path, body, kSoon);
  const auto threshold = query.find("threshold");
  const std::string asked =
      threshold == query.end() ? "" : "?threshold=" + serve::url_encode(threshold->second);
  return ask_server(server, "POST", path + "/infer" + asked, body, kInTime);
}

namespace fs = std::filesystem;

constexpr std::string_view kLabLog = "ui-log.txt";
constexpr int64_t kMostLog = 16 << 10;

// The last lines of what a lab says while it runs: of one that is written over, as it stands.
Json::Array last_said(const fs::path& log) {
  constexpr size_t kMostLines = 40;
  const runs::GrowingFile file(log);
  const int64_t begin = std::max<int64_t>(0, file.size() - kMostLog);
  std::vector<std::string> lines = split(file.read(begin, kMostLog), '\n');
  if (begin > 0 && !lines.empty()) lines.erase(lines.begin());
  Json::Array said;
  for (std::string& line : lines) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    line.erase(0, line.rfind('\r') + 1);
    if (!line.empty()) said.emplace_back(printable_line(line));
  }
  if (said.size() > kMostLines) {
    said.erase(said.begin(), said.end() - static_cast<ptrdiff_t>(kMostLines));
  }
  return said;
}

// What never changes of the labs is made once.
const Json& known_labs() {
  static const Json labs = lab::list_document().data.at("labs");
  return labs;
}

// A damaged file is no reason to show no labs.
Json cells_of_lab(const fs::path& folder) {
  try {
    return lab::read_cell_states(folder);
  } catch (const Error&) {
    return {};
  }
}

// Results lie in the folder of the lab, and its report is a link to the last page.
Json labs_json(const fs::path& folder) {
  Json::Array labs;
  for (Json lab : known_labs().items()) {
    const fs::path own = folder / lab.at("name").as_string();
    std::error_code none;
    lab["reported"] = fs::exists(own / "report.html", none);
    lab["run"] = cells_of_lab(own);
    lab["said"] = last_said(own / kLabLog);
    labs.push_back(std::move(lab));
  }
  return Json::object({{"labs", std::move(labs)}});
}

// Names of labs are plain, so they may stand in paths. Throws Error for another.
void require_lab(const std::string& name) {
  const Json::Array& labs = known_labs().items();
  const bool known = std::any_of(labs.begin(), labs.end(), [&](const Json& lab) {
    return lab.at("name").as_string() == name;
  });
  TY_REQUIRE(known, "there is no lab '{}'", name);
}

std::string lab_report(const fs::path& folder, const std::string& name) {
  require_lab(name);
  std::error_code none;
  const fs::path page = fs::canonical(folder / name / "report.html", none);
  TY_REQUIRE(!none, "this lab has no report yet; run it");
  TY_REQUIRE(page.parent_path().parent_path() == fs::canonical(folder / name),
             "the report of this lab lies elsewhere");
  const runs::GrowingFile file(page);
  return file.read(0, static_cast<size_t>(std::max<int64_t>(0, file.size())));
}

void run_lab_apart(const fs::path& folder, const std::string& name) {
  require_lab(name);
  const fs::path own = folder / name;
  fs::create_directories(own);
  start_apart({"lab", "run", name, "--quick", "--runs-dir", folder.string()}, own / kLabLog);
}

void resume_apart(const fs::path& run, const Json& settings) {
  const bool learns_by_acting = settings.find("agent") != nullptr;
  std::vector<std::string> words = {"train", "--resume", fs::absolute(run).string(), "--quiet"};
  if (learns_by_acting) words.insert(words.begin(), "rl");
  start_apart(std::move(words), run / "resumed.log");
}

}  // namespace

ui::Hooks ui_hooks(const UiSubjects& subjects) {
  ui::Hooks hooks;
  hooks.predict = predict_json;
  hooks.model = model_picture_json;
  hooks.forecast = [device = subjects.device](const Json& settings, const Json& machine) {
    return predict_run(settings, machine, device);
  };
  hooks.forecast_basis = [] { return kept_catalog({}); };
  hooks.pictures = guessed_pictures;
  hooks.resume = resume_apart;
  const fs::path folder = subjects.folder;
  hooks.labs = [folder] { return labs_json(folder); };
  hooks.lab_report = [folder](const std::string& name) { return lab_report(folder, name); };
  hooks.run_lab = [folder](const std::string& name) { run_lab_apart(folder, name); };
  hooks.server = [server = subjects.server](const ui::Query&) { return asked_server(server); };
  hooks.ask_model = [server = subjects.server](const std::string& model, const ui::Query& query,
                                               const std::string& body) {
    return asked_model(server, model, query, body);
  };
  return hooks;
}

}  // namespace trainyard::cli
