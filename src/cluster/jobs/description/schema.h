// Checks of a document against a JSON Schema: the part of draft 7 that the schemas of catalog/jobs
// use (type, required, properties, additionalProperties, propertyNames, items, enum, pattern,
// limits of lengths, numbers and counts, anyOf, oneOf, $ref to definitions).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace trainyard {
class YamlView;
}

namespace trainyard::jobs {

enum class Severity : uint8_t { kError, kWarning };

// Something wrong, or worth a second look, in a file.
struct Finding {
  Severity severity = Severity::kError;
  int line = 1;
  std::string field;
  std::string message;
};

class Findings {
 public:
  void error(const YamlView& view, std::string message);
  void warning(const YamlView& view, std::string message);
  void add(Finding finding) { findings_.push_back(std::move(finding)); }
  // In the order of the lines.
  std::vector<Finding> take();
  bool has_errors() const;

 private:
  std::vector<Finding> findings_;
};

// The schema of this name in catalog/jobs, parsed once: "job.schema.json", "schemas/vertex.yaml".
const Json& schema(std::string_view name);

void check_against(const YamlView& view, const Json& schema, Findings& findings);

}  // namespace trainyard::jobs
