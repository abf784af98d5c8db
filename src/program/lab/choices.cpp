#include "program/lab/choices.h"

#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "program/lab/query.h"

namespace trainyard::lab {
namespace {

constexpr std::pair<Scale, std::string_view> kScales[] = {
    {Scale::kFull, "full"}, {Scale::kQuick, "quick"}, {Scale::kCourse, "course"}};

// A number where it reads as one.
Json value_of(const std::string& text) {
  if (text.find(',') != std::string::npos) {
    Json list = Json::array();
    for (const std::string& part : split(text, ',')) list.push_back(value_of(part));
    return list;
  }
  const auto document = YamlDocument::parse("value: " + text, "--set");
  return document->json().at("value");
}

// `text` as a value of the kind that the setting has: a text stays one, commas included, and a list
// may have one value.
Json value_like(const Json& usual, const std::string& text) {
  if (usual.is_string() && !is_query(usual)) return text;
  Json value = value_of(text);
  if (!usual.is_array() || value.is_array()) return value;
  Json list = Json::array();
  list.push_back(std::move(value));
  return list;
}

// Settings of the file with those of the scale and of --set in their places; queries are not asked
// yet.
class GivenSettings {
 public:
  explicit GivenSettings(const Lab& lab) : lab_(lab) {
    values_ = Json::object();
    for (const auto& [name, value] : lab.settings) {
      values_[name] = value;
      names_.push_back(name);
    }
  }

  void change(const std::vector<std::pair<std::string, Json>>& others) {
    for (const auto& [name, value] : others) {
      require(name, lab_.file->origin());
      values_[name] = value;
    }
  }

  void set(const std::string& text) {
    const size_t equals = text.find('=');
    TY_REQUIRE(equals != std::string::npos && equals > 0, "--set {}: expected key=value", text);
    const std::string name = text.substr(0, equals);
    require(name, "--set");
    values_[name] = value_like(values_.at(name), text.substr(equals + 1));
  }

  Json take() { return std::move(values_); }

 private:
  void require(const std::string& name, std::string_view where) const {
    TY_REQUIRE(!names_.empty(), "{}: lab {} has no settings, so '{}' cannot be changed", where,
               lab_.name, name);
    if (values_.find(name) != nullptr) return;
    throw_error("{}: lab {} has no setting '{}', only {}.{}", where, lab_.name, name,
                join(names_, ", "), did_you_mean(name, names_));
  }

  const Lab& lab_;
  Json values_;
  std::vector<std::string> names_;
};

Json given_settings(const Lab& lab, const Choices& choices) {
  GivenSettings settings(lab);
  if (choices.scale == Scale::kQuick) settings.change(lab.quick);
  if (choices.scale == Scale::kCourse) {
    TY_REQUIRE(!lab.course.empty(),
               "lab {} has no settings for --scale course: run it with --scale full", lab.name);
    settings.change(lab.course);
  }
  for (const std::string& text : choices.set) settings.set(text);
  return settings.take();
}

Json machine_values() {
  return Json::object(
      {{"cores", static_cast<int64_t>(std::thread::hardware_concurrency())},
       {"memory_bytes", int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)}});
}

// A program from the given settings to the final ones, each query over those before it; empty if
// there is nothing to ask.
std::string settings_program(const Json& given) {
  const std::string machine = machine_values().dump(-1);
  std::string program;
  for (const auto& [name, value] : given.members()) {
    if (!is_query(value)) continue;
    const std::string key = Json(name).dump(-1);
    program += fmt::format("{}.[{}] = (. + {} | ({}\n))", program.empty() ? "" : " | ", key,
                           machine, value.as_string().substr(1));
  }
  return program;
}

// Throws the message of the first requirement that the settings do not satisfy.
void check_requirements(const Lab& lab, const Json& settings) {
  for (const Requirement& requirement : lab.requirements) {
    const auto asked = [&](std::string_view program) {
      return ask(program, settings, requirement.where, lab.functions);
    };
    const Json satisfied = asked(requirement.that);
    if (satisfied.is_bool() && satisfied.as_bool()) continue;
    throw_error("lab {}: {}", lab.name, fill_in(requirement.message, requirement.where, asked));
  }
}

// The program of a text with {{ queries }} in it.
std::string text_program(std::string_view text, const std::string& where) {
  std::string parts;
  const auto add = [&](const std::string& part) { parts += (parts.empty() ? "" : " + ") + part; };
  for_each_part(text, where, [&](std::string_view part, bool is_program) {
    if (is_program) {
      add(fmt::format("(({}\n) | if type == \"string\" then . else tostring end)", part));
    } else {
      add(Json(part).dump(-1));
    }
  });
  return parts.empty() ? "\"\"" : parts;
}

// From the given settings of the lab to its [title, question].
std::string texts_program(const Lab& lab, const Json& given) {
  const std::string settings = settings_program(given);
  return fmt::format("{}\n{} | {{settings: .}} | [{}, {}]", lab.functions,
                     settings.empty() ? "." : settings,
                     text_program(lab.title, lab.name + ": title"),
                     text_program(lab.question, lab.name + ": question"));
}

}  // namespace

std::string_view scale_name(Scale scale) {
  for (const auto& [known, name] : kScales) {
    if (known == scale) return name;
  }
  return "";
}

Scale scale_from_name(std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [scale, known] : kScales) {
    if (known == name) return scale;
    names.emplace_back(known);
  }
  throw_error("there is no scale '{}', only {}.{}", name, join(names, ", "),
              did_you_mean(name, names));
}

bool is_query(const Json& value) {
  return value.is_string() && value.as_string().starts_with("=");
}

Json settings_of(const Lab& lab, const Choices& choices) {
  Json settings = given_settings(lab, choices);
  const std::string program = settings_program(settings);
  if (!program.empty()) settings = ask(program, settings, lab.name + ": settings", lab.functions);
  check_requirements(lab, settings);
  return settings;
}

std::vector<Texts> texts_of(const std::vector<Lab>& labs) {
  Json given = Json::array();
  std::string program = "[";
  for (size_t i = 0; i < labs.size(); ++i) {
    given.push_back(given_settings(labs[i], {}));
    program += fmt::format("{}(.[{}] | ({}))", i > 0 ? ", " : "", i,
                           texts_program(labs[i], given.items()[i]));
  }
  const Json all = ask(program + "]", given, "titles of labs");
  std::vector<Texts> texts;
  for (const Json& one : all.items()) {
    texts.push_back({one.items()[0].as_string(), one.items()[1].as_string()});
  }
  return texts;
}

Texts texts_of(const Lab& lab, const Choices& choices) {
  const Json given = given_settings(lab, choices);
  const Json both = ask(texts_program(lab, given), given, lab.name);
  return {both.items()[0].as_string(), both.items()[1].as_string()};
}

}  // namespace trainyard::lab
