// Answers what the page asks: what is in the index, and what is new there.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "http/http.h"
#include "http/origin_policy.h"
#include "ui/answers.h"
#include "ui/run_index.h"

namespace trainyard::ui {

// Of an address, behind its '?'.
using Query = std::map<std::string, std::string>;

// What the program does for the page, each on the service's thread. They throw Error for what
// cannot be done; a null one is answered as a path that is not there.
struct Hooks {
  std::function<std::string(const Query&)> predict = {};  // the JSON of a prediction
  // Of a step, from a run's settings and machine: "step_ms", "input_ms", "exposed_ms",
  // "memory_bytes"; null: cannot be predicted.
  std::function<Json(const Json& settings, const Json& machine)> forecast = {};
  // What predictions rest on: another pointer once that has changed.
  std::function<std::shared_ptr<const void>()> forecast_basis = {};
  // Of a run's last test, the pictures of one class that were taken for another.
  std::function<Json(const std::filesystem::path& run, int64_t truth, int64_t guess)> pictures = {};
  std::function<std::string(const Query&)> model = {};  // a graph with the places of its nodes
  std::function<Json()> labs = {};
  std::function<std::string(const std::string& name)> lab_report = {};  // a page
  std::function<void(const std::string& name)> run_lab = {};
  std::function<void(const std::filesystem::path& run, const Json& settings)> resume = {};
  std::function<std::string(const Query&)> server = {};  // what an inference server says of itself
  // What it says of a model, or with a body the model's answer.
  std::function<std::string(const std::string& model, const Query&, const std::string& body)>
      ask_model = {};
};

struct ServiceOptions {
  std::vector<std::filesystem::path> folders;
  std::string token;  // bearer; empty: everybody may ask
  // By which clients may call this server beside its own names. Asked for where no token is.
  std::vector<std::string> allowed_hosts = {};
  std::chrono::milliseconds look{400};    // between looks at the folders while somebody waits
  std::chrono::seconds longest_wait{15};  // for something new
  // What can wait leaves the processors to a page for this long while it opens.
  std::chrono::milliseconds opening{1000};
  Price price = {};
  Hooks hooks = {};
};

// Folders are read on a thread of its own, one request after another.
class Service final : public serve::HttpHandler {
 public:
  // Reads the folders once. Throws Error naming one that is none.
  explicit Service(ServiceOptions options);
  ~Service() override;

  void handle(const serve::HttpRequest& request, serve::Reply reply) override;
  void refused(serve::Status /*status*/, std::string_view /*peer*/) override {}
  // Answers whoever waits for something new, now and from now on: the server is about to end.
  void drain();
  size_t num_runs() const { return first_runs_; }  // at the start

 private:
  struct Call {
    std::vector<std::string> parts;  // of the path, decoded
    Query query;
    std::string last_event;
    serve::Body body;
    bool changes = false;  // POST
    serve::Reply reply;
  };
  struct Waiting {
    uint64_t since = 0;
    serve::Clock::time_point until;
    serve::Reply reply;
  };

  void require_right(const serve::HttpRequest& request) const;
  void work();
  void look();
  void look_at_basis();
  bool think();
  serve::Clock::time_point next_work(bool more) const;
  void answer(Call& call);
  serve::HttpResponse answer_page(const Call& call);
  serve::HttpResponse answer_change(const Call& call);
  Json answer_json(const Call& call);
  Json answer_run(const Call& call);
  Json answer_confusion(const Call& call, const Run& run);
  const Run& run_of(const Call& call) const;
  Query model_query(const Call& call) const;
  Json act(const Call& call);
  void wait_for_news(Call& call);
  void answer_waiting();
  std::string event_text(uint64_t since) const;
  uint64_t version_in(std::string_view event) const;
  std::string event_id() const;

  ServiceOptions options_;
  serve::OriginPolicy own_pages_;
  RunIndex index_;  // of the thread, once it runs
  size_t first_runs_ = 0;
  std::string start_;   // sets apart the versions of this process
  std::string action_;  // what a page must say to change something
  serve::Clock::time_point looked_;
  std::shared_ptr<const void> basis_;  // of predictions
  std::vector<Waiting> waiting_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Call> calls_;
  serve::Clock::time_point calm_from_;  // before that a page is being opened
  bool draining_ = false;
  bool ending_ = false;
  std::thread thread_;
};

// "a=1&b=c%20d"; of a name that comes twice, the last. Throws RequestError for a wrong % code.
Query parse_query(std::string_view text);

}  // namespace trainyard::ui
