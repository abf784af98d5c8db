// The training manifest of IBM's service before version 4.
#pragma once

#include <string>

#include "base/yaml.h"
#include "cluster/jobs/formats/format.h"

namespace trainyard::jobs::ibm {

// Whether a file is such a manifest.
bool is_manifest(const Json& root);
// Adds ibm-manifest.yaml, or a note where the machine has no name there.
void add_manifest(Draft& draft, const std::string& name, const std::string& command);
void check_manifest(const YamlView& root, Findings& findings);
Job import_manifest(const YamlView& root);

}  // namespace trainyard::jobs::ibm
