#include "program/ui_hooks.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/printable.h"
#include "program/lab/listings.h"
#include "program/model_picture.h"
#include "program/ui_process.h"
#include "program/what_if.h"
#include "runs/growing_file.h"
#include "serve/load/load_client.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLabLog = "ui-log.txt";
constexpr int64_t kMostLog = 4096;

// The last line of what a lab says while it runs.
std::string last_said(const fs::path& log) {
  const runs::GrowingFile file(log);
  const int64_t begin = std::max<int64_t>(0, file.size() - kMostLog);
  std::string text = file.read(begin, kMostLog);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return printable_line(text.substr(text.find_last_of("\n\r") + 1));
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

// One request to an inference server, which answers soon or not at all.
std::string ask_server(const serve::Address& address, const std::string& method,
                       const std::string& path) {
  constexpr std::chrono::seconds kPatience{2};
  serve::LoadClient client(address, 1);
  const std::string message = serve::http_message(
      method, path, address, "Content-Type: application/json\r\n", method == "POST" ? "{}" : "");
  std::string body;
  bool answered = false;
  client.send(message, 0, serve::Clock::now());
  const auto until = serve::Clock::now() + kPatience;
  while (!answered && serve::Clock::now() < until) {
    client.wait(std::chrono::milliseconds(100),
                [&](uint64_t, serve::Clock::time_point, const serve::ClientResponse& response) {
                  answered = true;
                  if (response.status == 200) body = response.body;
                });
  }
  TY_REQUIRE(!body.empty(), "the server does not answer {}", path);
  return body;
}

std::string server_json(const std::string& server) {
  if (server.empty()) return Json::object({{"address", nullptr}}).dump(-1);
  try {
    const serve::Address address = serve::parse_url(server);
    const Json models =
        Json::parse(ask_server(address, "POST", "/v2/repository/index"), "the server's models");
    const Json stats =
        Json::parse(ask_server(address, "GET", "/v2/models/stats"), "the server's statistics");
    return Json::object({{"address", server},
                         {"models", models},
                         {"stats", stats},
                         {"metrics", ask_server(address, "GET", "/metrics")}})
        .dump(-1);
  } catch (const Failure& failure) {
    throw_error("{}", failure.what());
  }
}

}  // namespace

ui::Hooks ui_hooks(const UiSubjects& subjects) {
  ui::Hooks hooks;
  hooks.predict = predict_json;
  hooks.model = model_picture_json;
  hooks.forecast = [device = subjects.device](const Json& settings, const Json& /*machine*/) {
    return predict_run(settings, device);
  };
  hooks.resume = resume_apart;
  const fs::path folder = subjects.folder;
  hooks.labs = [folder] { return labs_json(folder); };
  hooks.lab_report = [folder](const std::string& name) { return lab_report(folder, name); };
  hooks.run_lab = [folder](const std::string& name) { run_lab_apart(folder, name); };
  hooks.server = [server = subjects.server](const ui::Query&) { return server_json(server); };
  return hooks;
}

}  // namespace trainyard::cli
