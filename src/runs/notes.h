// What people write down of a run: notes.json in its folder, made when they do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace trainyard::runs {

struct Notes {
  std::vector<std::string> tags;
  std::string text;
};

std::filesystem::path notes_file(const std::filesystem::path& run);
// Nothing written down where there is no file. Throws Error for one that is damaged.
Notes read_notes(const std::filesystem::path& run);
// Throws Error for more than 32 tags, a tag of more than 64 letters or with a space or comma, or
// more than 16 KiB of text; Failure if the file cannot be written.
void write_notes(const std::filesystem::path& run, const Notes& notes);

Json to_json(const Notes& notes);
// {"tags": […], "text": "…"}. Throws Error for anything else.
Notes notes_from_json(const Json& json);

}  // namespace trainyard::runs
