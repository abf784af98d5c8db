#include "cluster/jobs/description/draft.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace trainyard::jobs {
namespace {

std::string shown(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump(-1);
}

// Whether `inner` is `outer` or lies within it: "a.b" contains "a.b.c" and "a.b[0]", not "a.bc".
bool contains(std::string_view outer, std::string_view inner) {
  return inner == outer ||
         (inner.starts_with(outer) && (inner[outer.size()] == '.' || inner[outer.size()] == '['));
}

}  // namespace

std::string RenderedFile::text() const {
  std::string all;
  for (const RenderedLine& line : lines) all += line.text + "\n";
  return all;
}

void Draft::set(std::string_view path, Json value) {
  set_at_path(root_, path, std::move(value));
}

void Draft::put(std::string_view field, std::string_view path, Json value) {
  says(field, path, shown(value));
  set(path, std::move(value));
}

// A field may need several places; the table then lists them together.
void Draft::says(std::string_view field, std::string_view path, std::string value) {
  paths_.emplace_back(path, field);
  for (FieldMapping& known : rendering_.fields) {
    if (known.field != field) continue;
    known.path += fmt::format(", {}", path);
    if (known.value != value) known.value += fmt::format(", {}", value);
    return;
  }
  rendering_.fields.push_back({std::string(field), std::string(path), std::move(value)});
}

void Draft::cannot(std::string_view field, std::string why) {
  rendering_.missing.push_back({std::string(field), std::move(why)});
}

void Draft::note(std::string_view field, std::string text) {
  rendering_.notes.push_back({std::string(field), std::move(text)});
}

void Draft::step(std::string what, std::string command) {
  rendering_.steps.push_back({std::move(what), std::move(command)});
}

void Draft::put_pairs(std::string_view field, std::string_view path, const Pairs& pairs) {
  if (pairs.empty()) return;
  Json object = Json::object();
  for (const auto& [name, value] : pairs) object[name] = value;
  put(field, path, std::move(object));
}

std::string Draft::required(std::string_view platform, std::string_view key,
                            std::string_view placeholder) {
  std::string value = job_.option(platform, key);
  if (!value.empty() && value != placeholder) return value;
  note(fmt::format("platforms.{}.{}", platform, key),
       fmt::format("needed and not in the job; {} stands in its place", placeholder));
  return std::string(placeholder);
}

// The innermost place that a field claimed.
std::string Draft::field_of(const std::string& path) const {
  const std::pair<std::string, std::string>* best = nullptr;
  for (const auto& known : paths_) {
    if (!contains(known.first, path)) continue;
    if (best == nullptr || known.first.size() > best->first.size()) best = &known;
  }
  return best == nullptr ? "" : best->second;
}

void Draft::finish_file(std::string name, Style style) {
  RenderedFile file{std::move(name), {}};
  for (StructuredLine& line : style == Style::kJson ? json_lines(root_) : yaml_lines(root_)) {
    file.lines.push_back({std::move(line.text), field_of(line.path)});
  }
  rendering_.files.push_back(std::move(file));
  root_ = Json::object();
  paths_.clear();
}

// A platform must express or decline every field that the job sets; forgetting one is our bug.
Rendering Draft::take() {
  for (const std::string& field : set_fields(job_)) {
    const auto same = [&](const auto& entry) { return entry.field == field; };
    const bool covered = std::any_of(rendering_.fields.begin(), rendering_.fields.end(), same) ||
                         std::any_of(rendering_.missing.begin(), rendering_.missing.end(), same);
    TY_CHECK(covered, "{} is silent about {}", rendering_.platform, field);
  }
  return std::move(rendering_);
}

}  // namespace trainyard::jobs
