// A rendering while it is made: a tree in the platform's own words, and for each field of the job
// where it went, or why it could not.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/structured_text.h"
#include "cluster/jobs/description/job.h"

namespace trainyard::jobs {

// A field of the job in the words of a platform.
struct FieldMapping {
  std::string field;  // "machine.count"
  std::string path;   // "ResourceConfig.InstanceType"; empty: it has no place there
  std::string value;
};

struct Note {
  std::string field;
  std::string text;
};

struct RenderedLine {
  std::string text;
  std::string field;  // of the job; empty: none
};

struct RenderedFile {
  std::string name;
  std::vector<RenderedLine> lines;

  std::string text() const;
};

// A command line for people: submit, watch, stop.
struct Step {
  std::string what;
  std::string command;
};

struct Rendering {
  std::string platform;
  std::vector<RenderedFile> files;  // the first is the job's own
  std::vector<FieldMapping> fields;
  std::vector<Note> notes;    // what was changed, assumed or has to be filled in
  std::vector<Note> missing;  // what the platform cannot express
  std::vector<Step> steps;
};

class Draft {
 public:
  Draft(const Job& job, std::string platform) : job_(job) {
    rendering_.platform = std::move(platform);
  }

  const Job& job() const { return job_; }
  Json& root() { return root_; }

  // The value at `path` (see set_at_path), and that `field` is expressed there.
  void put(std::string_view field, std::string_view path, Json value);
  // The same without a field of the job.
  void set(std::string_view path, Json value);
  // `field` stands at `path` though it was not put there by itself (in a command, in a machine).
  void says(std::string_view field, std::string_view path, std::string value);
  void cannot(std::string_view field, std::string why);
  void note(std::string_view field, std::string text);
  void step(std::string what, std::string command);
  // Pairs as a mapping; nothing if there are none.
  void put_pairs(std::string_view field, std::string_view path, const Pairs& pairs);
  // A setting of the platform that must be there; without it a placeholder and a note.
  std::string required(std::string_view platform, std::string_view key,
                       std::string_view placeholder);

  enum class Style { kYaml, kJson };
  // The tree so far as a file; the tree begins anew.
  void finish_file(std::string name, Style style);
  void add_file(RenderedFile file) { rendering_.files.push_back(std::move(file)); }

  // The field of the job that stands at `path` or around it; empty if none does.
  std::string field_of(const std::string& path) const;

  // Throws InternalError if a field that the job sets is neither expressed nor said to be missing.
  Rendering take();

 private:
  const Job& job_;
  Json root_ = Json::object();
  Rendering rendering_;
  // Paths of the file that is being made, with their fields.
  std::vector<std::pair<std::string, std::string>> paths_;
};

}  // namespace trainyard::jobs
