#include "runs/notes.h"

#include "base/error.h"
#include "base/file.h"
#include "runs/growing_file.h"

namespace trainyard::runs {
namespace {

constexpr size_t kMostTags = 32;
constexpr size_t kLongestTag = 64;
constexpr size_t kLongestText = 16 << 10;
constexpr int64_t kLongestFile = 64 << 10;

void check(const Notes& notes) {
  TY_REQUIRE(notes.tags.size() <= kMostTags, "{} tags, expected at most {}", notes.tags.size(),
             kMostTags);
  TY_REQUIRE(notes.text.size() <= kLongestText, "a note of {} bytes, expected at most {}",
             notes.text.size(), kLongestText);
  for (const std::string& tag : notes.tags) {
    TY_REQUIRE(!tag.empty() && tag.size() <= kLongestTag &&
                   tag.find_first_of(" ,\t\r\n") == std::string::npos,
               "'{}' is no tag: expected 1 to {} letters without spaces and commas", tag,
               kLongestTag);
  }
}

}  // namespace

std::filesystem::path notes_file(const std::filesystem::path& run) {
  return run / "notes.json";
}

Json to_json(const Notes& notes) {
  return Json::object({{"tags", Json::array_of(notes.tags)}, {"text", notes.text}});
}

Notes notes_from_json(const Json& json) {
  Notes notes;
  for (const auto& [name, value] : json.members()) {
    if (name == "text") {
      notes.text = value.as_string();
    } else if (name == "tags") {
      for (const Json& tag : value.items()) notes.tags.push_back(tag.as_string());
    } else {
      throw_error("notes have no '{}'; expected tags and text", name);
    }
  }
  check(notes);
  return notes;
}

Notes read_notes(const std::filesystem::path& run) {
  const std::filesystem::path file = notes_file(run);
  if (mark_of(file).time == 0) return {};
  return notes_from_json(Json::parse(read_file(file, kLongestFile), "notes.json"));
}

void write_notes(const std::filesystem::path& run, const Notes& notes) {
  check(notes);
  write_file(notes_file(run), to_json(notes).dump(2) + "\n");
}

}  // namespace trainyard::runs
