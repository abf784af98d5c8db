#include "cluster/jobs/description/schema.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <regex>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/yaml.h"
#include "cluster/jobs/embedded.h"

namespace trainyard::jobs {
namespace {

// std::regex recurses with the length of the text.
constexpr size_t kLongestMatched = 4096;

std::string shortened(const std::string& text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? text : text.substr(0, kMost) + "…";
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_int();
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_bool();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  return type == "null" && value.is_null();
}

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> out;
  if (list.is_string()) return {list.as_string()};
  for (const Json& item : list.items()) {
    out.push_back(item.is_string() ? item.as_string() : item.dump(-1));
  }
  return out;
}

// Compiling an expression takes longer than matching it; the schemas repeat a few dozen.
bool matches(const std::string& text, const std::string& pattern) {
  static std::map<std::string, std::regex> known;
  static std::mutex lock;
  const std::lock_guard guard(lock);
  auto found = known.find(pattern);
  if (found == known.end()) found = known.emplace(pattern, std::regex(pattern)).first;
  return std::regex_search(text, found->second);
}

// The part of JSON Schema that the schemas of catalog/jobs use; every problem is reported with the
// line of the user's file, not only the first.
class Checker {
 public:
  Checker(const Json& root, Findings& findings) : root_(root), findings_(findings) {}

  void check(const YamlView& view, const Json& schema) {
    if (const Json* name = schema.find("$ref")) return check(view, definition(name->as_string()));
    if (const Json* choices = schema.find("anyOf")) return check_any(view, choices->items());
    if (!check_type(view, schema) || !check_enum(view, schema)) return;
    const Json& value = view.json();
    if (value.is_string()) check_text(view, value.as_string(), schema);
    if (value.is_number()) check_number(view, value.as_number(), schema);
    if (value.is_array()) check_list(view, schema);
    if (value.is_object()) check_object(view, schema);
  }

 private:
  const Json& definition(const std::string& reference) const {
    constexpr std::string_view kPrefix = "#/definitions/";
    TY_CHECK(reference.starts_with(kPrefix), "reference {}", reference);
    return root_.at("definitions").at(reference.substr(kPrefix.size()));
  }

  const Json& resolved(const Json& schema) const {
    const Json* name = schema.find("$ref");
    return name == nullptr ? schema : resolved(definition(name->as_string()));
  }

  // Of the alternatives for this type of value, the problems of the first.
  void check_any(const YamlView& view, const Json::Array& choices) {
    std::vector<std::string> kinds;
    for (const Json& choice : choices) {
      const Json* type = resolved(choice).find("type");
      if (type == nullptr) return check(view, choice);
      for (const std::string& name : texts(*type)) {
        if (has_type(view.json(), name)) return check(view, choice);
        kinds.push_back(name);
      }
    }
    findings_.error(view, fmt::format("expected {}, found {}", join(kinds, " or "),
                                      shortened(view.json().dump(-1))));
  }

  bool check_type(const YamlView& view, const Json& schema) {
    const Json* type = schema.find("type");
    if (type == nullptr) return true;
    const std::vector<std::string> types = texts(*type);
    for (const std::string& name : types) {
      if (has_type(view.json(), name)) return true;
    }
    findings_.error(view, fmt::format("expected {}, found {}", join(types, " or "),
                                      shortened(view.json().dump(-1))));
    return false;
  }

  bool check_enum(const YamlView& view, const Json& schema) {
    const Json* choices = schema.find("enum");
    if (choices == nullptr) return true;
    const std::string found = view.json().dump(-1);
    for (const Json& choice : choices->items()) {
      if (choice.dump(-1) == found) return true;
    }
    const std::vector<std::string> names = texts(*choices);
    const std::string text = view.json().is_string() ? view.json().as_string() : found;
    findings_.error(view, fmt::format("'{}' is not one of {}.{}", shortened(text),
                                      join(names, ", "), did_you_mean(text, names)));
    return false;
  }

  void check_text(const YamlView& view, const std::string& text, const Json& schema) {
    const auto length = static_cast<int64_t>(text.size());
    if (!in_range(view, length, schema, "minLength", "maxLength", "characters")) return;
    const Json* pattern = schema.find("pattern");
    if (pattern == nullptr) return;
    if (text.size() > kLongestMatched || !matches(text, pattern->as_string())) {
      const Json* words = schema.find("description");
      findings_.error(
          view, fmt::format("'{}' does not match {}{}", shortened(text), pattern->as_string(),
                            words != nullptr ? " (" + words->as_string() + ")" : std::string()));
    }
  }

  void check_number(const YamlView& view, double number, const Json& schema) {
    const Json* least = schema.find("minimum");
    const Json* most = schema.find("maximum");
    if (least != nullptr && number < least->as_number()) {
      findings_.error(view, fmt::format("{} is less than {}", number, least->as_number()));
    }
    if (most != nullptr && number > most->as_number()) {
      findings_.error(view, fmt::format("{} is more than {}", number, most->as_number()));
    }
  }

  bool in_range(const YamlView& view, int64_t count, const Json& schema, std::string_view low,
                std::string_view high, std::string_view what) {
    const Json* least = schema.find(low);
    const Json* most = schema.find(high);
    if (least != nullptr && count < least->as_int()) {
      findings_.error(view, fmt::format("{} {}, at least {}", count, what, least->as_int()));
      return false;
    }
    if (most != nullptr && count > most->as_int()) {
      findings_.error(view, fmt::format("{} {}, at most {}", count, what, most->as_int()));
      return false;
    }
    return true;
  }

  void check_list(const YamlView& view, const Json& schema) {
    const auto count = static_cast<int64_t>(view.json().items().size());
    in_range(view, count, schema, "minItems", "maxItems", "items");
    if (const Json* items = schema.find("items")) {
      for (const YamlView& item : view.items()) check(item, *items);
    }
  }

  void check_object(const YamlView& view, const Json& schema) {
    const auto count = static_cast<int64_t>(view.json().members().size());
    in_range(view, count, schema, "minProperties", "maxProperties", "entries");
    check_required(view, schema);
    const Json* properties = schema.find("properties");
    const Json* additional = schema.find("additionalProperties");
    const Json* names = schema.find("propertyNames");
    for (const auto& [key, member] : view.members()) {
      if (const Json* own = properties == nullptr ? nullptr : properties->find(key)) {
        // An absent value ("key:") is as good as no key, unless the schema speaks of null.
        const Json* type = resolved(*own).find("type");
        const bool null_meant = type != nullptr && type->dump(-1).find("null") != std::string::npos;
        if (!member.json().is_null() || null_meant) check(member, *own);
        continue;
      }
      if (additional != nullptr && additional->is_bool() && !additional->as_bool()) {
        unknown_key(member, key, properties);
        continue;
      }
      if (names != nullptr) check_text(member, key, *names);
      if (additional != nullptr && additional->is_object()) check(member, *additional);
    }
  }

  void unknown_key(const YamlView& member, const std::string& key, const Json* properties) {
    std::vector<std::string> known;
    if (properties != nullptr) {
      for (const auto& [name, unused] : properties->members()) known.push_back(name);
    }
    const std::string near = did_you_mean(key, known);
    findings_.error(member, near.empty()
                                ? fmt::format("no such field. Fields here: {}", join(known, ", "))
                                : "no such field." + near);
  }

  void check_required(const YamlView& view, const Json& schema) {
    if (const Json* required = schema.find("required")) {
      for (const std::string& key : texts(*required)) {
        if (!view.find(key)) findings_.error(view, fmt::format("'{}' is missing", key));
      }
    }
    const Json* choices = schema.find("oneOf");
    if (choices == nullptr) return;
    std::vector<std::string> keys;
    std::vector<std::string> found;
    for (const Json& choice : choices->items()) {
      keys.push_back(texts(choice.at("required")).at(0));
      if (view.find(keys.back())) found.push_back(keys.back());
    }
    if (found.size() == 1) return;
    findings_.error(view, fmt::format("exactly one of {} is wanted, found {}", join(keys, ", "),
                                      found.empty() ? std::string("none") : join(found, " and ")));
  }

  const Json& root_;
  Findings& findings_;
};

}  // namespace

void Findings::error(const YamlView& view, std::string message) {
  findings_.push_back({Severity::kError, view.line(), view.path(), std::move(message)});
}

void Findings::warning(const YamlView& view, std::string message) {
  findings_.push_back({Severity::kWarning, view.line(), view.path(), std::move(message)});
}

bool Findings::has_errors() const {
  return std::any_of(findings_.begin(), findings_.end(),
                     [](const Finding& finding) { return finding.severity == Severity::kError; });
}

// In the order of the file, however the schema was walked.
std::vector<Finding> Findings::take() {
  std::stable_sort(findings_.begin(), findings_.end(),
                   [](const Finding& a, const Finding& b) { return a.line < b.line; });
  return std::move(findings_);
}

const Json& schema(std::string_view name) {
  static std::map<std::string, std::shared_ptr<const YamlDocument>, std::less<>> known;
  static std::mutex lock;
  const std::lock_guard guard(lock);
  auto found = known.find(name);
  if (found == known.end()) {
    const std::string origin(name);
    found = known.emplace(origin, YamlDocument::parse(embedded_file(name), origin)).first;
  }
  return found->second->json();
}

void check_against(const YamlView& view, const Json& schema, Findings& findings) {
  Checker(schema, findings).check(view, schema);
}

}  // namespace trainyard::jobs
