#include "program/ui_hooks.h"

#include <algorithm>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "program/asked_server.h"
#include "program/guessed_pictures.h"
#include "program/kept_predictions.h"
#include "program/lab/listings.h"
#include "program/model_picture.h"
#include "program/ui_process.h"
#include "program/what_if.h"
#include "runs/growing_file.h"

namespace trainyard::cli {
namespace {

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

// Results lie in the folder of the lab, and its report is a link to the last page.
Json labs_json(const fs::path& folder) {
  Json::Array labs;
  for (Json lab : known_labs().items()) {
    const fs::path own = folder / lab.at("name").as_string();
    std::error_code none;
    lab["reported"] = fs::exists(own / "report.html", none);
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
  hooks.forecast = [device = subjects.device](const Json& settings, const Json& /*machine*/) {
    return predict_run(settings, device);
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
