// YAML files as a Json tree that remembers lines, so that a wrong field is reported as file:line.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace trainyard {

class YamlView;

// A parsed document; views into it stay valid as long as it lives and does not move.
class YamlDocument {
 public:
  // `origin` names the text in errors. Throws Error with line and column for malformed YAML, for a
  // key that appears twice, and beyond 4 MiB, 64 levels or 100,000 values (aliases written out).
  // Plain scalars become bool, integer or number where they read as one; quoted ones stay text.
  static std::shared_ptr<const YamlDocument> parse(std::string_view text, std::string origin);

  // The same for files of strangers: anchors and aliases are refused too.
  static std::shared_ptr<const YamlDocument> parse_without_aliases(std::string_view text,
                                                                   std::string origin);

  YamlView root() const;
  const Json& json() const { return root_; }
  const std::string& origin() const { return origin_; }

 private:
  friend class YamlView;
  Json root_;
  std::string origin_;
  std::unordered_map<const Json*, int> lines_;
};

// One value of a document and the way to it. Accessors throw Error naming file, line and field.
class YamlView {
 public:
  YamlView(const YamlDocument& document, const Json& value, std::string path)
      : document_(&document), value_(&value), path_(std::move(path)) {}

  const Json& json() const { return *value_; }
  const std::string& path() const { return path_; }
  int line() const;
  // "devices.yaml:12: field 'k80.memory_gb'"
  std::string where() const;
  [[noreturn]] void fail(std::string_view problem) const;

  // The member `key`; throws if it is missing or this is no mapping.
  YamlView at(std::string_view key) const;
  std::optional<YamlView> find(std::string_view key) const;
  std::vector<std::pair<std::string, YamlView>> members() const;
  std::vector<YamlView> items() const;
  // Throws naming the nearest allowed key if there is a member outside `allowed`.
  void only(std::initializer_list<std::string_view> allowed) const;
  void only(std::span<const std::string> allowed) const;

  double number() const;
  double positive() const;
  int64_t integer() const;
  // A whole number within both bounds.
  int64_t count(int64_t least, int64_t most) const;
  bool boolean() const;
  std::string text() const;
  double number_or(std::string_view key, double fallback) const;
  int64_t count_or(std::string_view key, int64_t fallback, int64_t least, int64_t most) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;

 private:
  const YamlDocument* document_;
  const Json* value_;
  std::string path_;
};

}  // namespace trainyard
