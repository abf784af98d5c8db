#include "ui/run_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/text.h"
#include "http/status.h"
#include "runs/growing_file.h"

namespace trainyard::ui {
namespace {

using serve::HttpResponse;
using serve::refuse;
using serve::Status;

constexpr int64_t kMostShown = 32 << 20;
constexpr int64_t kMostShownText = 256 << 10;
constexpr int64_t kMostTrace = 256 << 20;
constexpr size_t kMostSpans = 20'000;

struct Kind {
  std::string_view ending;
  std::string_view content_type;
};
constexpr std::array<Kind, 10> kKinds = {{{".html", "text/html; charset=utf-8"},
                                          {".png", "image/png"},
                                          {".jpg", "image/jpeg"},
                                          {".svg", "image/svg+xml"},
                                          {".txt", "text/plain; charset=utf-8"},
                                          {".log", "text/plain; charset=utf-8"},
                                          {".yaml", "text/plain; charset=utf-8"},
                                          {".json", "text/plain; charset=utf-8"},
                                          {".jsonl", "text/plain; charset=utf-8"},
                                          {".csv", "text/plain; charset=utf-8"}}};

// Scripts and styles inside it, nothing from elsewhere, and no origin: it reads no answer of ours.
constexpr std::string_view kSandbox =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src "
    "'unsafe-inline'; img-src data:; font-src data:";

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

struct Span {
  std::string rank;
  std::string name;
  std::string kind;
  double begin_us = 0;
  double length_us = 0;
};

std::string word_of(const Json& event, std::string_view name) {
  const Json* value = event.find(name);
  if (value == nullptr) return {};
  return value->is_string() ? printable_line(value->as_string()) : value->dump(-1);
}

// Chrome's format: "ph":"X" has a beginning and a length.
std::vector<Span> spans_of(const Json& trace) {
  const Json* list = trace.is_object() ? trace.find("traceEvents") : &trace;
  std::vector<Span> spans;
  if (list == nullptr || !list->is_array()) return spans;
  for (const Json& event : list->items()) {
    if (!event.is_object() || word_of(event, "ph") != "X") continue;
    const Json* begin = event.find("ts");
    const Json* length = event.find("dur");
    if (begin == nullptr || length == nullptr || !begin->is_number() || !length->is_number()) {
      continue;
    }
    spans.push_back({word_of(event, "pid") + "." + word_of(event, "tid"), word_of(event, "name"),
                     word_of(event, "cat"), begin->as_number(), length->as_number()});
  }
  return spans;
}

double number_in(const Json& object, std::string_view name) {
  const Json* value = object.is_object() ? object.find(name) : nullptr;
  return value != nullptr && value->is_number() ? value->as_number() : 0;
}

// What a worker does in a step before it has to wait for others.
double own_ms(const Json& worker) {
  return number_in(worker, "data_ms") + number_in(worker, "compute_ms");
}

// One step of all workers from `begin` on; returns when the last of them is done.
double add_step(const Json& workers, const std::string& step, double begin,
                std::vector<Span>& spans) {
  constexpr double kMicro = 1000;
  double end = begin;
  double slowest_ms = 0;
  for (const Json& worker : workers.items()) slowest_ms = std::max(slowest_ms, own_ms(worker));
  for (size_t w = 0; w < workers.items().size(); ++w) {
    const Json& worker = workers.items()[w];
    double at = begin;
    const auto add = [&](const char* kind, double length_ms) {
      if (length_ms <= 0) return;
      spans.push_back({"worker " + std::to_string(w), step, kind, at, kMicro * length_ms});
      at += kMicro * length_ms;
    };
    add("input", number_in(worker, "data_ms"));
    add("compute", number_in(worker, "compute_ms"));
    // Nobody's gradients are whole before the slowest has computed its own.
    const double exposed = number_in(worker, "exposed_ms");
    const double waiting = std::min(exposed, slowest_ms - own_ms(worker));
    add("waiting", waiting);
    add("exchange", exposed - waiting);
    end = std::max(end, at);
  }
  return end;
}

// What workers did in the last steps, as metrics.jsonl has it.
std::vector<Span> spans_of_steps(const std::filesystem::path& directory) {
  constexpr int64_t kLastBytes = 64 << 10;
  const runs::GrowingFile file(directory / "metrics.jsonl");
  const int64_t begin = std::max<int64_t>(0, file.size() - kLastBytes);
  std::vector<Span> spans;
  double at = 0;
  for (const std::string& line : split(file.read(begin, kLastBytes), '\n')) {
    if (line.find("\"workers\"") == std::string::npos) continue;
    try {
      const Json whole = Json::parse(line, "a line of metrics");
      at = add_step(whole.at("workers"), "step " + whole.at("step").dump(-1), at, spans);
    } catch (const Error&) {
      continue;  // torn
    }
  }
  return spans;
}

// The longest ones; null without any.
Json timeline_json(std::vector<Span> spans) {
  if (spans.empty()) return {};
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.length_us > b.length_us; });
  const size_t left_out = spans.size() - std::min(spans.size(), kMostSpans);
  spans.resize(spans.size() - left_out);
  Json::Array list;
  for (const Span& span : spans) {
    list.push_back(Json::object({{"rank", span.rank},
                                 {"name", span.name},
                                 {"kind", span.kind},
                                 {"begin_us", span.begin_us},
                                 {"length_us", span.length_us}}));
  }
  return Json::object({{"spans", std::move(list)}, {"left_out", static_cast<int64_t>(left_out)}});
}

}  // namespace

HttpResponse in_sandbox(std::string page) {
  HttpResponse response{.content_type = "text/html; charset=utf-8", .body = std::move(page)};
  response.add_header("Content-Security-Policy", kSandbox);
  return response;
}

HttpResponse run_file(const Run& run, const std::string& name) {
  const auto* kind = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&](const Kind& one) { return name.ends_with(one.ending); });
  if (!is_plain_name(name) || kind == kKinds.end()) {
    refuse(Status::kNotFound, "expected a report, a picture or a text of the run");
  }
  const runs::GrowingFile file(run.directory / name);
  if (file.size() < 0) refuse(Status::kNotFound, "the run has no file of this name");
  const bool text = kind->content_type.starts_with("text/plain");
  if (!text && file.size() > kMostShown) {
    refuse(Status::kTooLarge, "{} bytes, at most {} are shown", file.size(), kMostShown);
  }
  const int64_t begin = text ? std::max<int64_t>(0, file.size() - kMostShownText) : 0;
  HttpResponse response{.content_type = kind->content_type,
                        .body = file.read(begin, static_cast<size_t>(file.size() - begin))};
  response.add_header("Content-Security-Policy", kSandbox);
  return response;
}

Json timeline_of(const Run& run) {
  const runs::GrowingFile file(run.directory / "trace.json");
  if (file.size() < 0) return timeline_json(spans_of_steps(run.directory));
  if (file.size() > kMostTrace) refuse(Status::kTooLarge, "trace.json has {} bytes", file.size());
  const std::string text = file.read(0, static_cast<size_t>(file.size()));
  return timeline_json(spans_of(Json::parse(text, "trace.json")));
}

}  // namespace trainyard::ui
