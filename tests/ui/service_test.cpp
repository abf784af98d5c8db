#include "ui/service.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <future>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/json.h"
#include "runs/events.h"
#include "support/temporary_folder.h"
#include "ui/made_runs.h"
#include "ui/page.h"

namespace trainyard::ui {
namespace {

namespace fs = std::filesystem;
using serve::HttpResponse;
using serve::Status;
using Headers = std::vector<std::pair<std::string_view, std::string_view>>;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    options_.folders = {folder_.path()};
    options_.look = std::chrono::milliseconds(20);
    options_.longest_wait = std::chrono::seconds(1);
    options_.opening = {};
    options_.hooks.predict = [](const Query& query) -> std::string {
      if (query.at("model") == "none") throw_error("there is no such model");
      return "{\"model\":\"" + query.at("model") + "\"}";
    };
  }

  Service& service() {
    if (!service_) service_.emplace(options_);
    return *service_;
  }

  std::future<HttpResponse> begin(const std::string& target, const Headers& headers = {},
                                  std::string_view method = "GET",
                                  std::string_view host = "127.0.0.1:8080",
                                  const std::string& body = "") {
    auto answer = std::make_shared<std::promise<HttpResponse>>();
    serve::HttpRequest request;
    request.method = method;
    request.target = target;
    request.host = host;
    request.headers = headers;
    request.body = serve::Body(body);
    service().handle(request, [answer](const std::function<HttpResponse()>& make) {
      answer->set_value(make());
    });
    return answer->get_future();
  }
  HttpResponse get(const std::string& target, const Headers& headers = {},
                   std::string_view method = "GET", std::string_view host = "127.0.0.1:8080") {
    return begin(target, headers, method, host).get();
  }
  // As the page does it.
  HttpResponse post(const std::string& target, const std::string& body = "") {
    const std::string action = json("/api/runs").at("action").as_string();
    return begin(target, {{"X-Trainyard-Action", action}}, "POST", "127.0.0.1:8080", body).get();
  }
  Json json(const std::string& target) {
    const HttpResponse response = get(target);
    EXPECT_EQ(response.status, Status::kOk) << response.body;
    return Json::parse(response.body, target);
  }

  TemporaryFolder folder_{"ui_service"};
  ServiceOptions options_;
  std::optional<Service> service_;
};

TEST_F(ServiceTest, ListsRuns) {
  make_run(folder_.path(), "a", 16, 1);
  make_run(folder_.path(), "b", 32, 1);
  const Json all = json("/api/runs");
  EXPECT_EQ(all.at("differ").dump(-1), "[\"batch\"]");
  const Json& row = all.at("runs").items().at(1);
  EXPECT_EQ(row.at("name").as_string(), "b");
  EXPECT_EQ(row.at("state").as_string(), "stopped");
  EXPECT_EQ(row.at("settings").dump(-1), "{\"batch\":32}");
  EXPECT_EQ(row.at("best_top1").as_number(), 0.75);
  EXPECT_EQ(row.at("last").at("epoch").as_number(), 1);
  EXPECT_EQ(row.at("last").find("confusion"), nullptr);
}

TEST_F(ServiceTest, ShowsOneRun) {
  const fs::path run = make_run(folder_.path(), "it's", 16, 1);
  fs::create_directories(run / "checkpoints");
  write_file(run / "checkpoints" / "step-000002.safetensors", "1234");
  fs::create_symlink("/etc/hostname", run / "link");
  const Json one = json("/api/runs/it%27s");
  EXPECT_EQ(one.at("settings").at("batch").as_int(), 16);
  EXPECT_EQ(one.at("repeat").as_string(),
            "trainyard train --config '" + folder_.path().string() + "/it'\\''s/config.yaml'");
  std::string names;
  for (const Json& file : one.at("files").items()) names += file.at("name").as_string() + " ";
  EXPECT_EQ(names, "checkpoints/step-000002.safetensors config.yaml metrics.jsonl ");
}

TEST_F(ServiceTest, GivesNumbersFromAnOffset) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  const Json all = json("/api/runs/a/metrics");
  ASSERT_EQ(all.at("count").as_int(), 3);
  EXPECT_EQ(all.at("columns").at("step").dump(-1), "[1,2,2]");
  EXPECT_EQ(all.at("columns").at("loss").dump(-1), "[2.5,2,null]");
  EXPECT_FALSE(all.at("more").as_bool());
  const std::string rest = fmt::format("/api/runs/a/metrics?from={}&generation={}",
                                       all.at("next").as_int(), all.at("generation").as_int());
  EXPECT_EQ(json(rest).at("count").as_int(), 0);
  append(run / "metrics.jsonl", step_line(3, 1));
  EXPECT_EQ(json(rest).at("count").as_int(), 1);
}

TEST_F(ServiceTest, GivesAllNumbersAgainAfterACut) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  const Json all = json("/api/runs/a/metrics");
  fs::resize_file(run / "metrics.jsonl", step_line(1, 2.5).size());
  std::this_thread::sleep_for(2 * options_.look);
  const Json again = json(fmt::format("/api/runs/a/metrics?from={}&generation={}",
                                      all.at("next").as_int(), all.at("generation").as_int()));
  EXPECT_NE(again.at("generation").as_int(), all.at("generation").as_int());
  EXPECT_EQ(again.at("from").as_int(), 0);
  EXPECT_EQ(again.at("count").as_int(), 1);
}

TEST_F(ServiceTest, TellsWhatIsNewWithinASecond) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  const std::string version = json("/api/runs").at("version").as_string();
  std::future<HttpResponse> waiting = begin("/api/events?since=" + version);
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(60)), std::future_status::timeout);
  append(run / "metrics.jsonl", step_line(3, 1.125));
  ASSERT_EQ(waiting.wait_for(std::chrono::seconds(1)), std::future_status::ready);
  const HttpResponse response = waiting.get();
  EXPECT_EQ(response.content_type, "text/event-stream; charset=utf-8");
  EXPECT_NE(response.body.find("event: runs\ndata: {"), std::string::npos);
  EXPECT_NE(response.body.find("\"loss\":1.125"), std::string::npos);
  EXPECT_TRUE(response.body.ends_with("}\n\n"));
}

TEST_F(ServiceTest, EndsAWaitWithoutNews) {
  make_run(folder_.path(), "a", 16, 1);
  const std::string version = json("/api/runs").at("version").as_string();
  EXPECT_EQ(get("/api/events", {{"Last-Event-ID", version}}).body, "retry: 100\n: nothing new\n\n");
}

TEST_F(ServiceTest, TellsAllToOneWhoKnewAnotherServer) {
  make_run(folder_.path(), "a", 16, 1);
  EXPECT_NE(get("/api/events?since=beef.99").body.find("\"name\":\"a\""), std::string::npos);
}

TEST_F(ServiceTest, AnswersWhoWaitsWhenItEnds) {
  options_.longest_wait = std::chrono::seconds(60);
  std::future<HttpResponse> waiting = begin("/api/events");
  service().drain();
  EXPECT_EQ(waiting.wait_for(std::chrono::seconds(5)), std::future_status::ready);
}

TEST_F(ServiceTest, NamesAreNoPaths) {
  make_run(folder_.path(), "runs/a", 16, 1);
  write_file(folder_.path() / "secret.txt", "secret");
  for (const char* target :
       {"/api/runs/..", "/api/runs/%2e%2e%2fsecret.txt", "/api/runs/runs%2F..%2F..", "/api/runs/",
        "/api/runs/runs%2Fa/../../secret.txt", "/api/runs/%00", "/../secret.txt", "/secret.txt"}) {
    const HttpResponse response = get(target);
    EXPECT_EQ(response.status, Status::kNotFound) << target;
    EXPECT_EQ(response.body.find("secret\""), std::string::npos);
  }
}

TEST_F(ServiceTest, ShowsHostileNames) {
  const std::string name = "<img src=x onerror=alert(1)>\"'&\n\x1b[2J\xff";
  make_run(folder_.path(), name, 16, 1);
  const Json row = json("/api/runs").at("runs").items().at(0);
  EXPECT_EQ(row.at("name").as_string(), "<img src=x onerror=alert(1)>\"'&\\n\\x1b[2J\\xff");
  EXPECT_EQ(json("/api/runs/" + row.at("id").as_string()).at("name").dump(-1),
            row.at("name").dump(-1));
}

TEST_F(ServiceTest, RefusesWhatItDoesNotKnow) {
  make_run(folder_.path(), "a", 16, 1);
  EXPECT_EQ(get("/api/runs/a/metrics?from=x").status, Status::kBadRequest);
  EXPECT_EQ(get("/api/runs/a/metrics?from=-1").status, Status::kBadRequest);
  EXPECT_EQ(get("/api/runs/a/weights").status, Status::kNotFound);
  EXPECT_EQ(get("/api/runs/%zz").status, Status::kBadRequest);
  EXPECT_EQ(get("/api/runs", {}, "PUT").status, Status::kMethodNotAllowed);
  EXPECT_EQ(get("/", {}, "POST").status, Status::kMethodNotAllowed);
  EXPECT_EQ(json("/api/runs/a/metrics?from=999999999").at("count").as_int(), 3);
}

TEST_F(ServiceTest, WritesNotes) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  EXPECT_EQ(post("/api/runs/a/notes", "{\"tags\":[\"best\"],\"text\":\"<b>\"}").status,
            Status::kOk);
  const Json row = json("/api/runs").at("runs").items().at(0);
  EXPECT_EQ(row.at("tags").dump(-1), "[\"best\"]");
  EXPECT_EQ(row.at("note").as_string(), "<b>");
  EXPECT_TRUE(fs::exists(run / "notes.json"));
  EXPECT_EQ(post("/api/runs/a/notes", "{\"tags\":[\"a b\"]}").status, Status::kBadRequest);
  EXPECT_EQ(post("/api/runs/a/notes", "nonsense").status, Status::kBadRequest);
}

TEST_F(ServiceTest, ChangesNothingWithoutTheWord) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  const std::string notes = "{\"tags\":[\"x\"]}";
  const std::string target = "/api/runs/a/notes";
  const std::string host = "127.0.0.1:8080";
  EXPECT_EQ(begin(target, {}, "POST", host, notes).get().status, Status::kForbidden);
  const std::string action = json("/api/runs").at("action").as_string();
  const Headers elsewhere = {{"X-Trainyard-Action", action},
                             {"Origin", "http://evil.example"},
                             {"Content-Type", "application/json"}};
  EXPECT_EQ(begin(target, elsewhere, "POST", host, notes).get().status, Status::kForbidden);
  const Headers form = {{"X-Trainyard-Action", action},
                        {"Origin", "http://127.0.0.1:8080"},
                        {"Content-Type", "text/plain"}};
  EXPECT_EQ(begin(target, form, "POST", host, notes).get().status, Status::kForbidden);
  EXPECT_FALSE(fs::exists(run / "notes.json"));
}

TEST_F(ServiceTest, StopsAndResumesOnlyWhatItMay) {
  make_run(folder_.path(), "a", 16, 1);
  std::string resumed;
  options_.hooks.resume = [&](const fs::path& run, const Json&) { resumed = run.filename(); };
  const HttpResponse stop = post("/api/runs/a/stop");
  EXPECT_EQ(stop.status, Status::kBadRequest);
  EXPECT_EQ(stop.body, "{\"error\":\"no process of this machine works in a\"}");
  EXPECT_EQ(post("/api/runs/a/resume").status, Status::kOk);
  EXPECT_EQ(resumed, "a");
  EXPECT_EQ(post("/api/runs/a/erase").status, Status::kNotFound);
}

TEST_F(ServiceTest, ShowsFilesOfARunInASandbox) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  write_file(run / "report.html", "<script>1</script>");
  write_file(run / "weights.bin", "x");
  fs::create_symlink("/etc/hostname", run / "link.txt");
  const HttpResponse report = get("/api/runs/a/files/report.html");
  EXPECT_EQ(report.body, "<script>1</script>");
  EXPECT_NE(report.headers.find("sandbox allow-scripts;"), std::string::npos);
  EXPECT_EQ(report.headers.find("allow-same-origin"), std::string::npos);
  for (const char* name :
       {"weights.bin", "link.txt", "..%2Fa%2Fconfig.yaml", "none.txt", "%00.txt"}) {
    EXPECT_EQ(get(std::string("/api/runs/a/files/") + name).status, Status::kNotFound) << name;
  }
}

TEST_F(ServiceTest, ShowsConfusionAndTimeline) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  write_file(run / "classes.txt", "cat\ndog\n");
  write_file(
      run / "trace.json",
      "{\"traceEvents\":[{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"name\":\"conv\",\"cat\":\"compute\","
      "\"ts\":5,\"dur\":7},{\"ph\":\"M\"}]}");
  const Json confusion = json("/api/runs/a/confusion");
  EXPECT_EQ(confusion.at("counts").dump(-1), "[[1,0],[0,1]]");
  EXPECT_EQ(confusion.at("classes").dump(-1), "[\"cat\",\"dog\"]");
  const Json timeline = json("/api/runs/a/timeline");
  EXPECT_EQ(timeline.at("spans").items().at(0).at("rank").as_string(), "1.2");
  EXPECT_TRUE(json("/api/runs/a/system").at("columns").members().empty());
}

TEST_F(ServiceTest, ShowsWhatWorkersDidInTheLastSteps) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  EXPECT_TRUE(json("/api/runs/a/timeline").is_null());
  append(run / "metrics.jsonl",
         "{\"step\":3,\"loss\":1,\"workers\":[{\"compute_ms\":5,\"exposed_ms\":2,\"data_ms\":1},"
         "{\"compute_ms\":7,\"exposed_ms\":0,\"data_ms\":1}]}\n");
  const Json timeline = json("/api/runs/a/timeline");
  // Worker 0 waits for worker 1 all the time that it does not compute.
  ASSERT_EQ(timeline.at("spans").items().size(), 5);
  EXPECT_EQ(timeline.at("spans").items().at(2).at("kind").as_string(), "waiting");
  const Json& longest = timeline.at("spans").items().at(0);
  EXPECT_EQ(longest.at("rank").as_string(), "worker 1");
  EXPECT_EQ(longest.at("kind").as_string(), "compute");
  EXPECT_EQ(longest.at("begin_us").as_number(), 1000);
}

TEST_F(ServiceTest, PutsMeasuredBesidePredicted) {
  const fs::path run = make_run(folder_.path(), "a", 100, 1);
  append(
      run / "metrics.jsonl",
      "{\"step\":3,\"epoch\":2,\"train_loss\":1,\"images_per_s\":1000,\"train_s\":10,\"wait_s\":6,"
      "\"exposed_s\":0,\"seconds\":36}\n");
  options_.price = 100;
  options_.hooks.forecast = [](const Json&, const Json&) {
    return Json::object({{"step_ms", 50}, {"input_ms", 0}, {"exposed_ms", 0}});
  };
  json("/api/runs");
  std::this_thread::sleep_for(options_.look);
  const Json row = json("/api/runs").at("runs").items().at(0);
  EXPECT_EQ(row.at("measured").at("step_ms").as_number(), 100);
  EXPECT_NEAR(row.at("measured").at("input_ms").as_number(), 60, 1e-9);
  EXPECT_EQ(row.at("predicted").at("step_ms").as_number(), 50);
  EXPECT_EQ(row.at("wrong_term").as_string(), "input");
  EXPECT_EQ(row.at("cost_usd").as_number(), 1);
}

TEST_F(ServiceTest, PredictsAgainOnceWhatItRestsOnHasChanged) {
  make_run(folder_.path(), "a", 100, 1);
  double step = 50;
  auto basis = std::make_shared<int>(1);
  options_.hooks.forecast = [&](const Json&, const Json&) {
    return Json::object({{"step_ms", step}});
  };
  options_.hooks.forecast_basis = [&] { return basis; };
  const auto predicted = [&] {
    json("/api/runs");
    std::this_thread::sleep_for(2 * options_.look);
    json("/api/runs");
    std::this_thread::sleep_for(2 * options_.look);
    return json("/api/runs").at("runs").items().at(0).at("predicted").at("step_ms").as_number();
  };
  EXPECT_EQ(predicted(), 50);
  step = 40;
  EXPECT_EQ(predicted(), 50);
  basis = std::make_shared<int>(2);
  EXPECT_EQ(predicted(), 40);
}

TEST_F(ServiceTest, LeavesTheProcessorsToAPageThatOpens) {
  make_run(folder_.path(), "a", 100, 1);
  std::atomic<int> asked = 0;
  options_.opening = std::chrono::hours(1);
  options_.hooks.forecast = [&](const Json&, const Json&) {
    ++asked;
    return Json();
  };
  get("/");
  json("/api/runs");
  std::this_thread::sleep_for(2 * options_.look);
  EXPECT_EQ(json("/api/runs").at("runs").items().size(), 1);
  EXPECT_EQ(asked, 0);
}

TEST_F(ServiceTest, ShowsHistogramsOfEventFiles) {
  const fs::path run = make_run(folder_.path(), "a", 16, 1);
  EXPECT_TRUE(json("/api/runs/a/histograms").at("names").items().empty());
  runs::EventWriter writer(run, 0);
  writer.write_histogram(1, "state/w", std::vector<float>{0, 1, 1, 2});
  writer.write_histogram(2, "state/w", std::vector<float>{0, 4, 4, 4});
  writer.write_histogram(2, "gradient/w", std::vector<float>{3, 3});
  EXPECT_EQ(json("/api/runs/a/histograms").dump(-1), "{\"names\":[\"gradient/w\",\"state/w\"]}");
  const Json all = json("/api/runs/a/histograms?name=state/w");
  EXPECT_EQ(all.at("low").as_number(), 0);
  EXPECT_EQ(all.at("high").as_number(), 4);
  const Json::Array& steps = all.at("steps").items();
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].at("mean").as_number(), 1);
  EXPECT_EQ(steps[1].at("deviation").as_number(), std::sqrt(3.0));
  for (const Json& step : steps) {
    double count = 0;
    for (const Json& part : step.at("counts").items()) count += part.as_number();
    EXPECT_NEAR(count, 4, 1e-9);
  }
  // All numbers are the same.
  EXPECT_LT(json("/api/runs/a/histograms?name=gradient/w").at("low").as_number(), 3);
  EXPECT_EQ(get("/api/runs/a/histograms?name=none").status, Status::kNotFound);
}

TEST_F(ServiceTest, AsksForThePicturesOfACell) {
  make_run(folder_.path(), "a", 16, 1);
  EXPECT_EQ(get("/api/runs/a/confusion?truth=1&guess=0").status, Status::kNotFound);
  service_.reset();
  options_.hooks.pictures = [](const fs::path& run, int64_t truth, int64_t guess) {
    return Json::object({{"of", fmt::format("{} {} {}", run.filename().string(), truth, guess)}});
  };
  EXPECT_EQ(json("/api/runs/a/confusion?truth=1&guess=0").at("of").as_string(), "a 1 0");
  EXPECT_EQ(get("/api/runs/a/confusion?truth=-1&guess=0").status, Status::kBadRequest);
}

TEST_F(ServiceTest, AsksModelsForOneWhoKnowsTheWord) {
  options_.hooks.ask_model = [](const std::string& model, const Query& query,
                                const std::string& body) {
    return "\"" + model + (query.contains("threshold") ? " found " : " ") + body + "\"";
  };
  EXPECT_EQ(get("/api/server/models/a%2Fb").body, "\"a/b \"");
  EXPECT_EQ(post("/api/server/models/a/infer?threshold=1", "picture").body, "\"a found picture\"");
  EXPECT_EQ(post("/api/server/models/a/infer").status, Status::kNotFound);
  // A picture is no JSON, so the word alone keeps other pages out.
  const std::string action = json("/api/runs").at("action").as_string();
  const std::string target = "/api/server/models/a/infer";
  const std::string host = "127.0.0.1:8080";
  const Headers own = {{"X-Trainyard-Action", action}, {"Origin", "http://127.0.0.1:8080"}};
  EXPECT_EQ(begin(target, own, "POST", host, "x").get().status, Status::kOk);
  const Headers other = {{"X-Trainyard-Action", action}, {"Origin", "http://evil.example"}};
  EXPECT_EQ(begin(target, other, "POST", host, "x").get().status, Status::kForbidden);
  EXPECT_EQ(begin(target, {}, "POST", host, "x").get().status, Status::kForbidden);
}

TEST_F(ServiceTest, SavesAViewAsAReport) {
  const std::string view =
      "{\"title\":\"<b>Curves\",\"blocks\":[{\"heading\":\"Loss\"},{\"chart\":{\"kind\":"
      "\"line\",\"title\":\"loss\",\"x\":{\"name\":\"step\"},\"y\":{\"name\":\"loss\",\"log\":"
      "true},\"series\":[{\"name\":\"run\",\"points\":[[1,2.5],[2,null]]}]}},{\"table\":{"
      "\"columns\":[{\"name\":\"run\"},{\"name\":\"step\",\"number\":true}],\"rows\":[[\"<i>\","
      "\"3\"]]}}]}";
  const HttpResponse saved = post("/api/report", view);
  EXPECT_EQ(saved.status, Status::kOk);
  EXPECT_TRUE(saved.body.starts_with("<!doctype html>"));
  EXPECT_NE(saved.body.find("&lt;b&gt;Curves"), std::string::npos) << saved.body.substr(0, 500);
  EXPECT_EQ(saved.body.find("<i>"), std::string::npos);
  for (const char* wrong : {"[]", "{}", "{\"blocks\":[{\"script\":\"x\"}]}",
                            "{\"blocks\":[{\"table\":{\"columns\":[],\"rows\":[[\"x\"]]}}]}",
                            "{\"blocks\":[{\"picture\":{\"png\":\"PHN2Zz4=\"}}]}",
                            "{\"blocks\":[{\"picture\":{\"png\":\"iVBORw0KGgo=\"}}]}"}) {
    EXPECT_EQ(post("/api/report", wrong).status, Status::kBadRequest) << wrong;
  }
  EXPECT_EQ(begin("/api/report", {}, "POST", "127.0.0.1:8080", view).get().status,
            Status::kForbidden);
}

TEST_F(ServiceTest, AnswersOnlyItsOwnPages) {
  EXPECT_EQ(get("/api/runs", {}, "GET", "evil.example").status, Status::kMisdirected);
  EXPECT_EQ(get("/api/runs", {{"Origin", "http://evil.example"}}).status, Status::kForbidden);
  EXPECT_EQ(get("/api/runs", {{"Sec-Fetch-Site", "cross-site"}}).status, Status::kForbidden);
  EXPECT_EQ(get("/api/runs", {{"Origin", "http://127.0.0.1:8080"}}).status, Status::kOk);
}

TEST_F(ServiceTest, WantsItsToken) {
  options_.token = "right";
  EXPECT_EQ(get("/").status, Status::kOk);
  EXPECT_EQ(get("/api/runs").status, Status::kUnauthorized);
  EXPECT_EQ(get("/api/events").status, Status::kUnauthorized);
  EXPECT_EQ(get("/api/runs", {{"Authorization", "Bearer wrong"}}).status, Status::kUnauthorized);
  EXPECT_EQ(get("/api/runs", {{"Authorization", "Bearer right"}}).status, Status::kOk);
}

TEST_F(ServiceTest, HasAPageWithoutScriptsInside) {
  const HttpResponse page = get("/");
  EXPECT_NE(page.headers.find("script-src 'self'"), std::string::npos);
  EXPECT_EQ(page.headers.find("unsafe"), std::string::npos);
  EXPECT_NE(page.body.find("<script src=\"/ui.js\"></script>"), std::string::npos);
  EXPECT_EQ(page.body.find("<style"), std::string::npos);
  EXPECT_EQ(get("/ui.js").body, web_script());
}

TEST_F(ServiceTest, PredictsWhatItIsAsked) {
  EXPECT_EQ(get("/api/predict?model=a+b%2Bc").body, "{\"model\":\"a b+c\"}");
  const HttpResponse wrong = get("/api/predict?model=none");
  EXPECT_EQ(wrong.status, Status::kBadRequest);
  EXPECT_EQ(wrong.body, "{\"error\":\"there is no such model\"}");
}

}  // namespace
}  // namespace trainyard::ui
