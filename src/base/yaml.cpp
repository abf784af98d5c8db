#include "base/yaml.h"

#include <algorithm>
#include <sstream>
#include <unordered_set>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/text.h"

namespace trainyard {
namespace {

// Deeper nesting than this is an attack or an accident, not a catalog.
constexpr int kMaxYamlDepth = 64;
// Aliases count wherever they stand: a few lines of them can mean more than a machine holds.
constexpr int64_t kMaxNodes = 100'000;
constexpr size_t kMaxYamlBytes = size_t{4} << 20;

Json scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return text;  // quoted
  if (text == "true") return true;
  if (text == "false") return false;
  if (text == "~" || text == "null") return {};
  if (const auto whole = parse_number<int64_t>(text)) return *whole;
  if (const auto real = parse_number<double>(text)) return *real;
  return text;
}

// A Json tree of a YAML one, with aliases written out.
class YamlReader {
 public:
  explicit YamlReader(const std::string& origin) : origin_(origin) {}

  Json read(const YAML::Node& node, int depth) {
    TY_REQUIRE(depth < kMaxYamlDepth, "{}:{}: nested more than {} levels deep", origin_,
               node.Mark().line + 1, kMaxYamlDepth);
    TY_REQUIRE(++nodes_ <= kMaxNodes, "{}:{}: more than {} values, aliases (*name) written out",
               origin_, node.Mark().line + 1, kMaxNodes);
    if (node.IsMap()) return read_map(node, depth);
    if (!node.IsSequence()) return node.IsScalar() ? scalar(node) : Json();
    Json out = Json::array();
    for (const auto& item : node) out.push_back(read(item, depth + 1));
    return out;
  }

 private:
  Json read_map(const YAML::Node& node, int depth) {
    Json::Object members;
    std::unordered_set<std::string> keys;
    for (const auto& item : node) {
      TY_REQUIRE(item.first.IsScalar(), "{}:{}: a key must be plain text", origin_,
                 item.first.Mark().line + 1);
      const std::string& key = item.first.Scalar();
      TY_REQUIRE(keys.insert(key).second, "{}:{}: key '{}' appears twice", origin_,
                 item.first.Mark().line + 1, key);
      members.emplace_back(key, read(item.second, depth + 1));
    }
    return Json::object_of(std::move(members));
  }

  const std::string& origin_;
  int64_t nodes_ = 0;
};

// The tree does not move any more, so that the address of a value identifies it.
void record_lines(const YAML::Node& node, const Json& value,
                  std::unordered_map<const Json*, int>& lines) {
  lines[&value] = node.Mark().line + 1;
  if (value.is_array()) {
    size_t i = 0;
    for (const auto& item : node) record_lines(item, value.items()[i++], lines);
  } else if (value.is_object()) {
    size_t i = 0;
    for (const auto& item : node) {
      const Json& member = value.members()[i++].second;
      record_lines(item.second, member, lines);
      lines[&member] = item.first.Mark().line + 1;
    }
  }
}

// Hears of anchors and aliases, which a tree of nodes no longer shows.
class AliasRefusal : public YAML::EventHandler {
 public:
  explicit AliasRefusal(const std::string& origin) : origin_(origin) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { look(mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override { look(mark, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string&) override {
    look(mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    look(mark, anchor);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    look(mark, anchor);
  }
  void OnMapEnd() override {}

 private:
  void look(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    TY_REQUIRE(anchor == 0, "{}:{}: anchors (&) and aliases (*) are not taken here; write it out",
               origin_, mark.line + 1);
  }

  const std::string& origin_;
};

}  // namespace

std::shared_ptr<const YamlDocument> YamlDocument::parse_without_aliases(std::string_view text,
                                                                        std::string origin) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    AliasRefusal refusal(origin);
    while (parser.HandleNextDocument(refusal)) {
    }
  } catch (const YAML::Exception&) {
    // parse() says what is wrong with it.
  }
  return parse(text, std::move(origin));
}

std::shared_ptr<const YamlDocument> YamlDocument::parse(std::string_view text, std::string origin) {
  auto document = std::make_shared<YamlDocument>();
  document->origin_ = std::move(origin);
  TY_REQUIRE(text.size() <= kMaxYamlBytes, "{}: {} bytes of YAML, expected at most {}",
             document->origin_, text.size(), kMaxYamlBytes);
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    document->root_ = YamlReader(document->origin_).read(root, 0);
    record_lines(root, document->root_, document->lines_);
  } catch (const YAML::Exception& problem) {
    throw_error("{}:{}:{}: not valid YAML: {}", document->origin_, problem.mark.line + 1,
                problem.mark.column + 1, problem.msg);
  }
  return document;
}

YamlView YamlDocument::root() const {
  return {*this, root_, ""};
}

int YamlView::line() const {
  const auto line = document_->lines_.find(value_);
  return line == document_->lines_.end() ? 1 : line->second;
}

std::string YamlView::where() const {
  std::string text = fmt::format("{}:{}", document_->origin_, line());
  if (!path_.empty()) text += fmt::format(": field '{}'", path_);
  return text;
}

void YamlView::fail(std::string_view problem) const {
  throw_error("{}: {}", where(), problem);
}

std::optional<YamlView> YamlView::find(std::string_view key) const {
  const Json* found = value_->find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  return YamlView(*document_, *found,
                  path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key));
}

YamlView YamlView::at(std::string_view key) const {
  if (!value_->is_object()) fail(fmt::format("expected a mapping with '{}'", key));
  std::optional<YamlView> found = find(key);
  if (!found) fail(fmt::format("'{}' is missing", key));
  return *found;
}

std::vector<std::pair<std::string, YamlView>> YamlView::members() const {
  if (!value_->is_object()) fail("expected a mapping");
  std::vector<std::pair<std::string, YamlView>> out;
  for (const auto& [key, value] : value_->members()) {
    out.emplace_back(
        key, YamlView(*document_, value, path_.empty() ? key : fmt::format("{}.{}", path_, key)));
  }
  return out;
}

std::vector<YamlView> YamlView::items() const {
  if (!value_->is_array()) fail("expected a list");
  std::vector<YamlView> out;
  for (const Json& item : value_->items()) {
    out.emplace_back(*document_, item, fmt::format("{}[{}]", path_, out.size()));
  }
  return out;
}

void YamlView::only(std::initializer_list<std::string_view> allowed) const {
  only(std::vector<std::string>(allowed.begin(), allowed.end()));
}

void YamlView::only(std::span<const std::string> allowed) const {
  for (const auto& [key, view] : members()) {
    if (std::find(allowed.begin(), allowed.end(), key) != allowed.end()) continue;
    view.fail(fmt::format("no such field.{} Fields here: {}", did_you_mean(key, allowed),
                          join(allowed, ", ")));
  }
}

double YamlView::number() const {
  if (!value_->is_number()) fail(fmt::format("expected a number, found {}", value_->dump(-1)));
  return value_->as_number();
}

double YamlView::positive() const {
  const double value = number();
  if (!(value > 0)) fail(fmt::format("expected a number above 0, found {}", value));
  return value;
}

int64_t YamlView::integer() const {
  if (!value_->is_int()) fail(fmt::format("expected a whole number, found {}", value_->dump(-1)));
  return value_->as_int();
}

int64_t YamlView::count(int64_t least, int64_t most) const {
  const int64_t value = integer();
  if (value < least || value > most) {
    fail(fmt::format("is {}, expected {} to {}", value, least, most));
  }
  return value;
}

bool YamlView::boolean() const {
  if (!value_->is_bool()) fail(fmt::format("expected true or false, found {}", value_->dump(-1)));
  return value_->as_bool();
}

std::string YamlView::text() const {
  if (value_->is_string()) return value_->as_string();
  // A name such as 1080 reads as a number in YAML.
  if (value_->is_number()) return value_->dump(-1);
  fail(fmt::format("expected text, found {}", value_->dump(-1)));
}

double YamlView::number_or(std::string_view key, double fallback) const {
  const std::optional<YamlView> found = find(key);
  return found ? found->number() : fallback;
}

int64_t YamlView::count_or(std::string_view key, int64_t fallback, int64_t least,
                           int64_t most) const {
  const std::optional<YamlView> found = find(key);
  return found ? found->count(least, most) : fallback;
}

std::string YamlView::text_or(std::string_view key, std::string_view fallback) const {
  const std::optional<YamlView> found = find(key);
  return found ? found->text() : std::string(fallback);
}

}  // namespace trainyard
