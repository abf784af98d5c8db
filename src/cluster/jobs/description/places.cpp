#include "cluster/jobs/description/places.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard::jobs {
namespace {

// Goes on behind what was put in, so a place that contains its own name does not repeat for ever.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::vector<std::string> place_names(const Job& job) {
  std::vector<std::string> names = {"checkpoints"};
  for (const DataPlace& place : job.inputs) names.push_back(place.name);
  for (const DataPlace& place : job.outputs) names.push_back(place.name);
  return names;
}

// "{inputs.train}" in a word, or nothing.
std::string left_placeholder(const std::string& word) {
  for (const std::string_view kind : {"{inputs.", "{outputs.", "{checkpoints}"}) {
    const size_t at = word.find(kind);
    // Azure's own ${{inputs.x}} is no placeholder of ours.
    if (at == std::string::npos || (at > 0 && word[at - 1] == '{')) continue;
    const size_t end = word.find('}', at);
    if (end != std::string::npos) return word.substr(at, end - at + 1);
  }
  return "";
}

}  // namespace

// A text without "://" is a path.
Uri parse_uri(std::string_view text) {
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) return {"", "", std::string(text)};
  const std::string_view rest = text.substr(colon + 3);
  const size_t slash = std::min(rest.find('/'), rest.size());
  Uri uri{std::string(text.substr(0, colon)), std::string(rest.substr(0, slash)), ""};
  if (slash < rest.size()) uri.path = rest.substr(slash + 1);
  return uri;
}

// A platform may have its own copy of the data: platforms.NAME.uris.
std::string uri_for(const Job& job, std::string_view platform, const std::string& name,
                    const std::string& uri) {
  const Json* options = job.platforms.find(platform);
  const Json* uris = options == nullptr ? nullptr : options->find("uris");
  if (uris == nullptr || !uris->is_object()) return uri;
  const std::vector<std::string> names = place_names(job);
  for (const auto& [key, value] : uris->members()) {
    if (std::find(names.begin(), names.end(), key) == names.end()) {
      job.fail(fmt::format("platforms.{}.uris.{}", platform, key),
               "the job has no such input or output." + did_you_mean(key, names));
    }
  }
  const Json* own = uris->find(name);
  return own == nullptr ? uri : own->as_string();
}

// How each place is written in the command, and how this platform shows it.
std::vector<PlacePath> known_places(const Job& job, std::string_view platform, const Shown& shown) {
  std::vector<PlacePath> places;
  const auto add = [&](std::string_view kind, const DataPlace& place) {
    DataPlace here = place;
    here.uri = uri_for(job, platform, place.name, place.uri);
    places.push_back(
        {kind == "checkpoints" ? "{checkpoints}" : fmt::format("{{{}.{}}}", kind, place.name),
         shown(kind, here)});
  };
  for (const DataPlace& place : job.inputs) add("inputs", place);
  for (const DataPlace& place : job.outputs) add("outputs", place);
  if (!job.checkpoints.empty()) add("checkpoints", {"checkpoints", job.checkpoints});
  return places;
}

// Every placeholder must be known: a command with "{inputs.x}" left in it would fail only after
// hours in a queue.
std::vector<std::string> filled(const Job& job, const std::vector<std::string>& words,
                                const std::vector<PlacePath>& places) {
  std::vector<std::string> out;
  for (std::string word : words) {
    for (const PlacePath& place : places) word = replaced(word, place.placeholder, place.shown);
    const std::string left = left_placeholder(word);
    if (!left.empty()) {
      std::vector<std::string> known;
      for (const PlacePath& place : places) known.push_back(place.placeholder);
      job.fail("command", fmt::format("'{}' names no input or output of the job.{}", left,
                                      did_you_mean(left, known)));
    }
    out.push_back(std::move(word));
  }
  return out;
}

std::vector<std::string> emptied(const std::vector<std::string>& words,
                                 const std::vector<PlacePath>& places) {
  // Longer paths first: one may lie in another.
  std::vector<PlacePath> ordered = places;
  std::stable_sort(ordered.begin(), ordered.end(), [](const PlacePath& a, const PlacePath& b) {
    return a.shown.size() > b.shown.size();
  });
  std::vector<std::string> out = words;
  for (std::string& word : out) {
    for (const PlacePath& place : ordered) word = replaced(word, place.shown, place.placeholder);
  }
  return out;
}

// Found for 'trainyard train', which resumes by its name; other programs have to say how.
std::vector<std::string> resume_command(const Job& job) {
  if (!job.resume.empty()) return job.resume;
  const std::vector<std::string>& words = job.command;
  if (words.size() < 2 || !words[0].ends_with("trainyard") || words[1] != "train") return {};
  std::vector<std::string> command = {words[0], "train"};
  bool named = false;
  for (size_t i = 2; i + 1 < words.size(); ++i) {
    if (words[i] == "--name") command.insert(command.end(), {"--resume", words[i + 1]});
    if (words[i] == "--runs-dir") command.insert(command.end(), {words[i], words[i + 1]});
    named = named || words[i] == "--name";
  }
  return named ? command : std::vector<std::string>();
}

}  // namespace trainyard::jobs
