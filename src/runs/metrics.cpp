#include "runs/metrics.h"

#include <functional>

#include "base/error.h"

namespace trainyard::runs {
namespace {

// Full resolution for millions of steps.
constexpr int64_t kMaxBytes = int64_t{1} << 34;

// Calls `visit` with each whole line until it returns false. Returns the byte where the line it
// stopped at begins, or a torn last one.
size_t walk(const std::string& text, const std::string& origin,
            const std::function<bool(Json line, int64_t step)>& visit) {
  size_t begin = 0;
  for (int64_t number = 1;; ++number) {
    const size_t end = text.find('\n', begin);
    if (end == std::string::npos) return begin;
    const std::string where = fmt::format("{}:{}", origin, number);
    Json line = Json::parse(std::string_view(text).substr(begin, end - begin), where);
    const Json* step = line.find("step");
    TY_REQUIRE(step != nullptr && step->is_int(), "{}: expected an object with a step, found {}",
               where, line.dump(-1));
    const int64_t value = step->as_int();
    if (!visit(std::move(line), value)) return begin;
    begin = end + 1;
  }
}

const std::filesystem::path& cut_behind(const std::filesystem::path& path, int64_t last_step) {
  if (!std::filesystem::exists(path)) return path;
  const std::string text = read_file(path, kMaxBytes);
  const size_t kept =
      walk(text, path.string(), [&](const Json&, int64_t step) { return step <= last_step; });
  std::error_code problem;
  if (kept < text.size()) std::filesystem::resize_file(path, kept, problem);
  if (problem) throw_failure("{}: cannot be written: {}", path.string(), problem.message());
  return path;
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& path, int64_t last_step)
    : file_(cut_behind(path, last_step)), last_step_(last_step) {}

void MetricsWriter::append(const Json& line) {
  const int64_t step = line.at("step").as_int();
  TY_CHECK(step >= last_step_, "step {} after step {}", step, last_step_);
  file_.append(line.dump(-1) + "\n");
  last_step_ = step;
}

std::vector<Json> read_metrics(const std::filesystem::path& path) {
  std::vector<Json> lines;
  walk(read_file(path, kMaxBytes), path.string(), [&](Json line, int64_t) {
    lines.push_back(std::move(line));
    return true;
  });
  return lines;
}

}  // namespace trainyard::runs
