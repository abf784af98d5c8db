// Batch scripts of Slurm as documents: options by their long names, and the script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/jobs/description/schema.h"

namespace trainyard::jobs::slurm {

// Whether a text is a batch script.
bool is_script(std::string_view text);

// The script as a document of YAML with the same lines: {"--nodes": "2", …, "script": "…"}. Options
// without a value are true. Throws Error with file and line for what is no option.
std::string as_yaml(std::string_view text, const std::string& origin);

// Options behind the first command, which sbatch does not read.
void check_order(std::string_view text, Findings& findings);

// NAME=(words) of the script, as words; empty if it has no such line.
std::vector<std::string> array_in(const std::string& script, std::string_view name);

// `NAME=(…)`, quoted.
std::string array_line(std::string_view name, const std::vector<std::string>& words);

}  // namespace trainyard::jobs::slurm
