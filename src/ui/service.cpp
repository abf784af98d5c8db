#include "ui/service.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "http/bearer.h"
#include "http/status.h"
#include "http/url.h"
#include "ui/histograms.h"
#include "ui/page.h"
#include "ui/run_files.h"
#include "ui/run_index.h"
#include "ui/run_state.h"
#include "ui/saved_view.h"

namespace trainyard::ui {
namespace {

// What a page may tell a run.
using serve::refuse;
using serve::Status;

// Asks the process that holds the run's folder to end its step, save and stop. Throws RequestError
// if none of this machine does.
void stop_run(const Run& run) {
  const std::optional<int64_t> process = process_that_holds(run.directory);
  if (!process) {
    refuse(Status::kBadRequest, "no process of this machine works in {}", run.name);
  }
  if (kill(static_cast<pid_t>(*process), SIGTERM) != 0) {
    refuse(Status::kForbidden, "process {} cannot be asked to stop: {}", *process,
           std::strerror(errno));
  }
}

// Throws RequestError for a run that somebody works on, or that others have written.
void require_resumable(const Run& run) {
  if (run.source != runs::Source::kTrainyard) {
    refuse(Status::kBadRequest, "{} was written by another program", run.name);
  }
  if (process_that_holds(run.directory) || run.state == RunState::kRunning) {
    refuse(Status::kBadRequest, "{} is running", run.name);
  }
}

using serve::Clock;
using serve::HttpRequest;
using serve::HttpResponse;
using serve::refuse;
using serve::Status;

void secure(HttpResponse& response) {
  if (response.headers.find("Content-Security-Policy") == std::string::npos) {
    response.add_header("Content-Security-Policy", content_policy());
  }
  response.add_header("X-Content-Type-Options", "nosniff");
  response.add_header("Referrer-Policy", "no-referrer");
  response.add_header("Cross-Origin-Resource-Policy", "same-origin");
  response.add_header("Cache-Control", "no-store");
}

void send(const serve::Reply& reply, HttpResponse response) {
  secure(response);
  auto kept = std::make_shared<HttpResponse>(std::move(response));
  reply([kept] { return std::move(*kept); });
}

void send_problem(const serve::Reply& reply, const std::exception_ptr& problem) {
  try {
    std::rethrow_exception(problem);
  } catch (const serve::WrongMethod& error) {
    HttpResponse response = serve::error_response(error.status(), error.what());
    response.add_header("Allow", error.allowed());
    send(reply, std::move(response));
  } catch (const serve::RequestError& error) {
    send(reply, serve::error_response(error.status(), error.what()));
  } catch (const Error& error) {
    send(reply, serve::error_response(Status::kBadRequest, error.what()));
  } catch (const std::exception& error) {
    send(reply, serve::error_response(Status::kInternal, error.what()));
  }
}

int64_t whole_number(const Query& query, const std::string& name) {
  const auto found = query.find(name);
  if (found == query.end()) return 0;
  const std::string& text = found->second;
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || value < 0) {
    refuse(Status::kBadRequest, "'{}' is '{}', expected a whole number from 0 on", name, text);
  }
  return value;
}

std::string start_stamp() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{:x}", std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

// Nobody can guess it.
std::string action_word() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

Query parse_query(std::string_view text) {
  Query query;
  while (!text.empty()) {
    const std::string_view pair = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), pair.size() + 1));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    std::string value(pair.substr(std::min(equals + 1, pair.size())));
    std::replace(value.begin(), value.end(), '+', ' ');
    query[serve::url_decode(pair.substr(0, equals))] = serve::url_decode(value);
  }
  return query;
}

Service::Service(ServiceOptions options)
    : options_(std::move(options)),
      own_pages_(options_.allowed_hosts),
      index_(options_.folders),
      start_(start_stamp()),
      action_(action_word()) {
  look();
  first_runs_ = index_.runs().size();
  calm_from_ = Clock::now() + options_.opening;
  thread_ = std::thread([this] { work(); });
}

Service::~Service() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Service::drain() {
  {
    const std::lock_guard lock(mutex_);
    draining_ = true;
  }
  wake_.notify_one();
}

// The page itself says nothing of the runs, and asks for the token.
void Service::require_right(const HttpRequest& request) const {
  own_pages_.require_same_origin(request);
  if (options_.token.empty()) {
    own_pages_.require_our_host(request);
  } else if (request.target.starts_with("/api/")) {
    serve::require_bearer(request, options_.token);
  }
  if (request.method == "GET" || request.method == "HEAD") return;
  if (request.method != "POST" || !request.target.starts_with("/api/")) {
    throw serve::WrongMethod("expected GET, or POST of what changes something", "GET, HEAD, POST");
  }
  // A picture for a model is no JSON; the word below, which no other page knows, is enough.
  if (!request.target.starts_with("/api/server/")) own_pages_.require_our_page(request);
  if (request.header("X-Trainyard-Action") != action_) {
    refuse(Status::kForbidden,
           "to change something, the header X-Trainyard-Action must be the word 'action' of "
           "/api/runs");
  }
}

void Service::handle(const HttpRequest& request, serve::Reply reply) {
  try {
    require_right(request);
    const std::string_view path = request.target.substr(0, request.target.find('?'));
    if (path == "/") {
      const std::lock_guard lock(mutex_);
      calm_from_ = Clock::now() + options_.opening;
    }
    if (std::optional<PageFile> page = find_page(path)) {
      return send(reply, {.content_type = page->content_type, .body = std::move(page->body)});
    }
    const std::string_view query =
        request.target.substr(std::min(path.size() + 1, request.target.size()));
    Call call{serve::split_path(path),
              parse_query(query),
              std::string(request.header("Last-Event-ID")),
              request.body,
              request.method == "POST",
              reply};
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
    }
    wake_.notify_one();
  } catch (...) {
    send_problem(reply, std::current_exception());
  }
}

void Service::look() {
  looked_ = Clock::now();
  look_at_basis();
  index_.scan();
}

// A measured machine, or another catalog, predicts otherwise.
void Service::look_at_basis() {
  if (!options_.hooks.forecast_basis) return;
  try {
    std::shared_ptr<const void> basis = options_.hooks.forecast_basis();
    if (basis_ != nullptr && basis != basis_) index_.forget_predictions();
    basis_ = std::move(basis);
  } catch (const Error&) {
    // Half a catalog is no reason to forget.
  }
}

// What can wait: the rest of long files, and predictions. True if there is more to do.
bool Service::think() {
  if (index_.read_more()) return true;
  Run* run = options_.hooks.forecast ? index_.without_prediction() : nullptr;
  if (run == nullptr) return false;
  Json predicted;
  try {
    predicted = options_.hooks.forecast(run->settings, run->machine);
  } catch (const std::exception&) {
    // A network that is not known here has no prediction, whatever its settings lead to.
  }
  index_.set_prediction(*run, std::move(predicted));
  return true;
}

// When there is something to do even if nobody asks.
Clock::time_point Service::next_work(bool more) const {
  const Clock::time_point look =
      waiting_.empty() ? Clock::time_point::max() : looked_ + options_.look;
  return more ? std::min(look, calm_from_) : look;
}

void Service::work() {
  bool more = true;
  for (std::unique_lock lock(mutex_); !ending_ || !calls_.empty();) {
    const auto has_work = [&] {
      return ending_ || !calls_.empty() || (draining_ && !waiting_.empty());
    };
    const Clock::time_point next = next_work(more);
    if (next == Clock::time_point::max()) {
      wake_.wait(lock, has_work);
    } else {
      wake_.wait_until(lock, next, has_work);
    }
    std::deque<Call> calls = std::exchange(calls_, {});
    const bool calm = Clock::now() >= calm_from_;
    lock.unlock();
    for (Call& call : calls) answer(call);
    if (!more || Clock::now() - looked_ >= options_.look) answer_waiting();
    more = !calm || think();
    lock.lock();
  }
}

void Service::answer(Call& call) {
  try {
    if (Clock::now() - looked_ >= options_.look) look();
    const bool waits = call.parts == std::vector<std::string>{"api", "events"};
    if (waits && !call.changes) return wait_for_news(call);
    send(call.reply, answer_page(call));
  } catch (...) {
    send_problem(call.reply, std::current_exception());
  }
}

HttpResponse Service::answer_page(const Call& call) {
  const Hooks& hooks = options_.hooks;
  const std::vector<std::string>& parts = call.parts;
  if (call.changes) return answer_change(call);
  if (parts.size() == 2 && parts[0] == "api") {
    if (parts[1] == "predict" && hooks.predict) return {.body = hooks.predict(call.query)};
    if (parts[1] == "model" && hooks.model) return {.body = hooks.model(model_query(call))};
    if (parts[1] == "server" && hooks.server) return {.body = hooks.server(call.query)};
    if (parts[1] == "labs" && hooks.labs) return {.body = hooks.labs().dump(-1)};
  }
  const bool is_model = parts.size() == 4 && parts[1] == "server" && parts[2] == "models";
  if (is_model && hooks.ask_model) return {.body = hooks.ask_model(parts[3], call.query, "")};
  const bool is_report = parts.size() == 4 && parts[1] == "labs" && parts[3] == "report";
  if (is_report && hooks.lab_report) return in_sandbox(hooks.lab_report(parts[2]));
  if (parts.size() == 5 && parts[0] == "api" && parts[1] == "runs" && parts[3] == "files") {
    return run_file(run_of(call), parts[4]);
  }
  return {.body = answer_json(call).dump(-1)};
}

// POST. Reports and answers of models come back; all else is done here.
HttpResponse Service::answer_change(const Call& call) {
  const std::vector<std::string>& parts = call.parts;
  if (parts == std::vector<std::string>{"api", "report"}) {
    return {.content_type = "text/html; charset=utf-8",
            .body = saved_view(Json::parse(*call.body, "the view"))};
  }
  const bool asks = parts.size() == 5 && parts[1] == "server" && parts[4] == "infer";
  if (asks && options_.hooks.ask_model && !call.body->empty()) {
    return {.body = options_.hooks.ask_model(parts[3], call.query, std::string(*call.body))};
  }
  return {.body = act(call).dump(-1)};
}

// A network that lies in the folder of a run is named by the run: paths are ours to say.
Query Service::model_query(const Call& call) const {
  Query query = call.query;
  query.erase("path");
  if (const auto run = query.find("run"); run != query.end()) {
    const Run* found = index_.find(run->second);
    if (found == nullptr) refuse(Status::kNotFound, "there is no run '{}'", run->second);
    query["path"] = found->directory.string();
  }
  return query;
}

Json Service::answer_json(const Call& call) {
  const std::vector<std::string>& parts = call.parts;
  if (parts.size() < 2 || parts[0] != "api" || parts[1] != "runs" || parts.size() > 4) {
    refuse(Status::kNotFound, "there is nothing at this path; expected /api/runs");
  }
  if (parts.size() > 2) return answer_run(call);
  Json all = rows_since(index_, 0, options_.price);
  all["version"] = event_id();
  all["action"] = action_;
  all["price"] = options_.price;
  return all;
}

// Names are looked up in the index and never used as paths.
const Run& Service::run_of(const Call& call) const {
  const std::string id = serve::url_encode(call.parts[2]);
  const Run* run = index_.find(id);
  if (run == nullptr) refuse(Status::kNotFound, "there is no run '{}'", id);
  return *run;
}

Json Service::answer_run(const Call& call) {
  const Run& run = run_of(call);
  if (call.parts.size() == 3) return details_of(serve::url_encode(call.parts[2]), run);
  const std::string& part = call.parts[3];
  if (part == "system") return system_series(run);
  if (part == "confusion") return answer_confusion(call, run);
  if (part == "samples") return samples_of(run);
  if (part == "timeline") return timeline_of(run);
  if (part == "histograms") {
    const auto name = call.query.find("name");
    return name == call.query.end() ? histogram_names(run) : histograms_of(run, name->second);
  }
  if (part != "metrics") {
    refuse(Status::kNotFound,
           "a run has no '{}'; expected metrics, system, confusion, samples, histograms, timeline "
           "or files",
           part);
  }
  const auto generation = static_cast<uint64_t>(whole_number(call.query, "generation"));
  return numbers_from(run, generation, whole_number(call.query, "from"));
}

// The matrix, or of one of its cells the pictures.
Json Service::answer_confusion(const Call& call, const Run& run) {
  if (!call.query.contains("truth")) return confusion_of(run);
  if (!options_.hooks.pictures) refuse(Status::kNotFound, "there are no pictures here");
  return options_.hooks.pictures(run.directory, whole_number(call.query, "truth"),
                                 whole_number(call.query, "guess"));
}

// POST: what is written, and processes that are told something.
Json Service::act(const Call& call) {
  const std::vector<std::string>& parts = call.parts;
  const Hooks& hooks = options_.hooks;
  if (parts.size() == 4 && parts[1] == "labs" && parts[3] == "run" && hooks.run_lab) {
    hooks.run_lab(parts[2]);
    return Json::object({{"done", true}});
  }
  if (parts.size() != 4 || parts[1] != "runs") {
    refuse(Status::kNotFound, "nothing can be changed at this path");
  }
  const Run& run = run_of(call);
  if (parts[3] == "notes") {
    runs::write_notes(run.directory, runs::notes_from_json(Json::parse(*call.body, "the notes")));
  } else if (parts[3] == "stop") {
    stop_run(run);
  } else if (parts[3] == "resume" && hooks.resume) {
    require_resumable(run);
    hooks.resume(run.directory, run.settings);
  } else {
    refuse(Status::kNotFound, "a run cannot be told '{}'; expected notes, stop or resume",
           parts[3]);
  }
  look();
  return Json::object({{"done", true}});
}

std::string Service::event_id() const {
  return fmt::format("{}.{}", start_, index_.version());
}

// Versions of another process mean nothing: all is new then.
uint64_t Service::version_in(std::string_view event) const {
  const size_t dot = event.find('.');
  if (dot == std::string_view::npos || event.substr(0, dot) != start_) return 0;
  uint64_t version = 0;
  std::from_chars(event.data() + dot + 1, event.data() + event.size(), version);
  return version;
}

void Service::wait_for_news(Call& call) {
  const auto since = call.query.find("since");
  const std::string& event =
      call.last_event.empty() && since != call.query.end() ? since->second : call.last_event;
  waiting_.push_back({event.empty() ? index_.version() : version_in(event),
                      Clock::now() + options_.longest_wait, std::move(call.reply)});
}

// Each answer is whole and ends, so that the limits of all connections hold for those that wait;
// clients of events come back by themselves.
std::string Service::event_text(uint64_t since) const {
  if (index_.version() <= since) return "retry: 100\n: nothing new\n\n";
  return fmt::format("retry: 100\nid: {}\nevent: runs\ndata: {}\n\n", event_id(),
                     rows_since(index_, since, options_.price).dump(-1));
}

void Service::answer_waiting() {
  if (waiting_.empty()) return;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    all = draining_ || ending_;
  }
  try {
    if (Clock::now() - looked_ >= options_.look) look();
  } catch (const std::exception&) {
    // The folders may be readable again at the next look.
  }
  const Clock::time_point now = Clock::now();
  std::erase_if(waiting_, [&](const Waiting& one) {
    if (!all && index_.version() <= one.since && now < one.until) return false;
    send(one.reply,
         {.content_type = "text/event-stream; charset=utf-8", .body = event_text(one.since)});
    return true;
  });
}

}  // namespace trainyard::ui
