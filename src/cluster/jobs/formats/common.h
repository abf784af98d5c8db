// What several formats share.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/yaml.h"
#include "cluster/jobs/description/draft.h"
#include "cluster/jobs/description/machines.h"
#include "cluster/jobs/description/names.h"
#include "cluster/jobs/description/places.h"
#include "cluster/jobs/formats/format.h"

namespace trainyard::jobs {

// The job's name as the platform allows it, with a note if it had to be changed. Throws Error if
// nothing is left of it.
std::string name_for(Draft& draft, const NameRule& rule, std::string_view title);

// Tags with keys and values as the rule allows them, with a note for what was changed.
Pairs tags_for(Draft& draft, const NameRule& rule, std::string_view title);

// Whether the platform can reach the place; a note if not.
bool reachable(Draft& draft, std::string_view kind, const DataPlace& place,
               const std::vector<std::string_view>& schemes, const Format& format);
// Throws Error if the job has no image for the platform.
std::string needed_image(const Job& job, const Format& format);

// Words as one line for a shell.
std::string command_line(const std::vector<std::string>& words);

// The words behind the launcher that starts the processes of one node, and back; unwrapping sets
// launcher and processes_per_node of the job.
std::vector<std::string> launched_on_node(const Job& job, const std::vector<std::string>& words);
std::vector<std::string> without_launcher(const std::vector<std::string>& words, Job& job);

// "A command that starts again", for platforms that start the same command.
void restarts_with_command(Draft& draft, std::string_view title);
// cpus and memory choose the machine and are not written.
void says_machine_size(Draft& draft, std::string_view path, const Machine& machine);

Json name_value_list(const Pairs& pairs, const char* name, const char* value);

// For importers: what is absent stays empty.
std::string text_in(const YamlView& view, std::string_view key);
int64_t integer_in(const YamlView& view, std::string_view key, int64_t fallback);
// The whole number that the text begins with ("4+" is 4), but no less than `least`, which also
// stands for a text that begins with none. Throws Error for a number beyond a thousand million.
int64_t leading_count(std::string_view text, int64_t least);
// Of a field that may be absent; the error then names file, line and field.
int64_t count_in(const YamlView& view, std::string_view key, int64_t least);
std::vector<std::string> texts_in(const YamlView& view, std::string_view key);
struct Unit {
  std::string_view suffix;
  double factor;
};
// A number followed by one of the units, rounded up, as a job needs all of it; 0 if it is none.
int64_t quantity_of(std::string_view text, std::span<const Unit> units);
Pairs pairs_in(const YamlView& view, std::string_view key);
Pairs named_values_in(const YamlView& view, std::string_view key, std::string_view name,
                      std::string_view value);
// The accelerators of a machine of the catalog, for the job.
void take_machine(Job& job, std::string_view platform, std::string_view option,
                  const std::string& name);

// Findings that several platforms share.
void check_machine_name(const YamlView& view, std::string_view platform, Findings& findings);
void check_plain_secrets(const YamlView& pairs, Findings& findings);
void check_placeholders(const YamlView& root, Findings& findings);

}  // namespace trainyard::jobs
