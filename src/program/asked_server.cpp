#include "program/asked_server.h"

#include <chrono>

#include <fmt/format.h>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"
#include "http/url.h"
#include "serve/load/load_client.h"

namespace trainyard::cli {
namespace {

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

}  // namespace

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

}  // namespace trainyard::cli
