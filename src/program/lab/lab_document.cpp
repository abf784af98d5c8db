// The report of a lab: blocks of the file, filled in with the data.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "program/lab/lab_report.h"
#include "program/lab/query.h"

namespace trainyard::lab {
namespace {

// A program met a value that the data do not have: a training that diverged has no loss, a fit
// that failed no error. The block that asked says nothing then; the rest of the report stands.
class AbsentValue : public Error {
 public:
  using Error::Error;
};

class Answers {
 public:
  // `report` is the report of a lab file, as it was read; `functions` are those of the lab. `data`
  // must outlive this.
  Answers(const Json& report, const Json& data, std::string_view functions);

  // Of one program, which is asked alone if the report does not have it. Throws Error with `where`
  // if it fails, AbsentValue if that is for lack of data.
  Json one(std::string_view program, const std::string& where) const;
  // As fill_in(); a program without a result is an AbsentValue.
  std::string filled(std::string_view text, const std::string& where) const;

  const Json& data() const { return data_; }

 private:
  Json found(std::string_view program, const std::string& where) const;

  const Json& data_;
  std::string functions_;
  // [result], [] of a program that gives none, or the text of its error.
  std::map<std::string, Json, std::less<>> known_;
};

// Fields of a report whose text is a program; in all other texts programs stand in {{ }}.
constexpr std::string_view kProgramKeys[] = {"rows", "when", "points", "series", "columns"};

bool is_program(std::string_view key) {
  for (const std::string_view program : kProgramKeys) {
    if (key == program) return true;
  }
  return false;
}

void collect(const Json& value, std::string_view key, std::set<std::string>& programs) {
  if (value.is_array()) {
    for (const Json& item : value.items()) collect(item, key, programs);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.members()) collect(member, name, programs);
  } else if (value.is_string() && is_program(key)) {
    programs.insert(value.as_string());
  } else if (value.is_string()) {
    for_each_part(value.as_string(), "report", [&](std::string_view part, bool is_program) {
      if (is_program) programs.emplace(part);
    });
  }
}

// What \(…) makes of a value that is not there.
bool says_null(std::string_view text) {
  constexpr std::string_view kNull = "null";
  const auto letter = [&](size_t at) {
    return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
  };
  for (size_t at = text.find(kNull); at != std::string_view::npos; at = text.find(kNull, at + 1)) {
    if (!letter(at - 1) && !letter(at + kNull.size())) return true;
  }
  return false;
}

Answers::Answers(const Json& report, const Json& data, std::string_view functions)
    : data_(data), functions_(functions) {
  std::set<std::string> programs;
  try {
    collect(report, "", programs);
  } catch (const Error&) {
    return;  // a text without the end of its query, which the block that has it says
  }
  std::string all = "[";
  for (const std::string& program : programs) {
    all += fmt::format("{}(try [limit(1; ({}\n))] catch tostring)", all.size() > 1 ? ", " : "",
                       program);
  }
  Json found;
  try {
    found = ask(all + "]", data, "report", functions_);
  } catch (const Error&) {
    return;  // one of them is no program, or all together take too long; asked alone each says so
  }
  size_t at = 0;
  for (const std::string& program : programs) known_.emplace(program, found.items()[at++]);
}

Json Answers::found(std::string_view program, const std::string& where) const {
  const auto known = known_.find(program);
  if (known == known_.end()) return ask(program, data_, where, functions_);
  if (!known->second.is_array()) throw_error("{}: {}", where, known->second.as_string());
  TY_REQUIRE(!known->second.items().empty(), "{}: the jq program gives no result", where);
  return known->second.items()[0];
}

Json Answers::one(std::string_view program, const std::string& where) const {
  try {
    return found(program, where);
  } catch (const Error& error) {
    // What jq says where it needs a number, list or text and has none.
    if (std::string_view(error.what()).find("null") == std::string_view::npos) throw;
    throw AbsentValue(error.what());
  }
}

std::string Answers::filled(std::string_view text, const std::string& where) const {
  return fill_in(text, where, [&](std::string_view program) {
    Json value = one(program, where);
    const bool lacks = value.is_null() || (value.is_string() && says_null(value.as_string()));
    if (lacks) throw AbsentValue(where + ": the result is null");
    return value;
  });
}

using report::Align;
using report::Best;

constexpr int64_t kMaxPictureBytes = int64_t{64} << 20;

// Line breaks of the file are not those of the report.
std::string filled(const YamlView& view, const Answers& answers) {
  std::string out;
  for (const char c : answers.filled(view.text(), view.where())) {
    const bool space = c == ' ' || c == '\n';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

Json asked(const YamlView& view, const Answers& answers) {
  return answers.one(view.text(), view.where());
}

// Of a table, chart or listing.
Json needed(const YamlView& view, const Answers& answers) {
  Json value = asked(view, answers);
  if (value.is_null()) throw AbsentValue(view.where() + ": the result is null");
  return value;
}

std::string text_of(const Json& value) {
  if (value.is_string()) return value.as_string();
  return value.is_null() ? "-" : value.dump(-1);
}

// "count", "fixed 2", "percent 1", "si", "bytes", "seconds", "money" or "text".
report::Cell cell_of(const Json& value, const std::string& format, const YamlView& view) {
  if (format == "text" || !value.is_number()) return text_of(value);
  const double number = value.as_number();
  const std::vector<std::string> words = split(format, ' ');
  const bool digit =
      words.size() == 2 && words[1].size() == 1 && words[1][0] >= '0' && words[1][0] <= '9';
  if (words.size() > 1 && !digit)
    view.fail(fmt::format("'{}' needs one digit, as fixed 2", format));
  const int digits = digit ? words[1][0] - '0' : 1;
  // Beyond 2^62 a whole number has no digits to show.
  if (std::fabs(number) > 0x1p62) return report::si_cell(number);
  if (words[0] == "count") return report::count_cell(std::llround(number));
  if (words[0] == "fixed") return report::fixed_cell(number, digits);
  if (words[0] == "percent") return report::percent_cell(number, digits);
  if (words[0] == "si") return report::si_cell(number);
  if (words[0] == "bytes") return report::bytes_cell(std::llround(number));
  if (words[0] == "seconds") return report::seconds_cell(number);
  if (words[0] == "money") return {fmt::format("${:.2f}", number), fmt::format("{}", number)};
  view.fail(
      fmt::format("there is no format '{}', only count, fixed N, percent N, si, bytes, "
                  "seconds, money and text",
                  format));
}

Best best_of(const YamlView& column) {
  const std::string best = column.text_or("best", "");
  if (best == "lowest") return Best::kLowest;
  if (best == "highest") return Best::kHighest;
  if (!best.empty()) column.fail("'best' is neither lowest nor highest");
  return Best::kNone;
}

// A column that no row has a value for is left out: settings decide which there are.
bool is_used(const std::string& key, const Json::Array& rows) {
  if (rows.empty()) return true;
  return std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
    const Json* value = row.is_object() ? row.find(key) : nullptr;
    return value != nullptr && !value->is_null();
  });
}

report::Table table_of(const YamlView& view, const Answers& answers) {
  view.only({"rows", "columns"});
  const YamlView rows = view.at("rows");
  const Json result = needed(rows, answers);
  if (!result.is_array()) rows.fail("expected a query that gives an array of objects");
  std::vector<report::Column> columns;
  std::vector<std::string> keys;
  std::vector<std::string> formats;
  for (const YamlView& column : view.at("columns").items()) {
    column.only({"key", "name", "format", "best"});
    const std::string key = column.at("key").text();
    if (!keys.empty() && !is_used(key, result.items())) continue;
    keys.push_back(key);
    formats.push_back(column.text_or("format", "text"));
    const bool text = formats.back() == "text";
    const auto name = column.find("name");
    columns.push_back({name ? filled(*name, answers) : keys.back(),
                       text ? Align::kLeft : Align::kRight, 0, keys.back(), best_of(column)});
  }
  report::Table table(std::move(columns));
  for (const Json& row : result.items()) {
    if (row.is_null()) {
      table.add_rule();
      continue;
    }
    std::vector<report::Cell> cells;
    for (size_t c = 0; c < keys.size(); ++c) {
      const Json* value = row.find(keys[c]);
      cells.push_back(cell_of(value != nullptr ? *value : Json(), formats[c], view));
    }
    // What cannot be (a prediction that does not fit into memory) is shown, but counts for nothing.
    const Json* struck = row.find("struck");
    if (struck != nullptr && struck->is_bool() && struck->as_bool()) {
      table.add_struck_row(std::move(cells));
    } else {
      table.add_row(std::move(cells));
    }
  }
  return table;
}

// The place of a category, added if it is new; numbers are as they are.
double place_of(const Json& value, report::Axis& axis) {
  if (value.is_number()) return value.as_number();
  if (value.is_null()) return report::kAbsent;
  const std::string& name = value.as_string();
  const auto found = std::find(axis.categories.begin(), axis.categories.end(), name);
  if (found != axis.categories.end()) {
    return static_cast<double>(found - axis.categories.begin());
  }
  axis.categories.push_back(name);
  return static_cast<double>(axis.categories.size() - 1);
}

report::ChartPoint point_of(const Json& json, report::Chart& chart, const YamlView& view) {
  report::ChartPoint point;
  const auto number = [](const Json* value) {
    return value != nullptr && value->is_number() ? value->as_number() : report::kAbsent;
  };
  if (json.is_array()) {
    const Json::Array& items = json.items();
    if (items.size() != 2 && items.size() != 4) view.fail("a point is [x, y] or [x, y, low, high]");
    point.x = place_of(items[0], chart.x);
    point.y = place_of(items[1], chart.y);
    if (items.size() == 4) {
      point.low = number(&items[2]);
      point.high = number(&items[3]);
    }
    return point;
  }
  if (!json.is_object()) view.fail("a point is an array or an object, not " + json.dump(-1));
  if (const Json* x = json.find("x")) point.x = place_of(*x, chart.x);
  if (const Json* y = json.find("y")) point.y = place_of(*y, chart.y);
  point.low = number(json.find("low"));
  point.high = number(json.find("high"));
  point.value = number(json.find("value"));
  if (const Json* label = json.find("label")) point.label = text_of(*label);
  return point;
}

report::Origin origin_of(const Json& json, report::Origin otherwise) {
  const Json* origin = json.is_object() ? json.find("origin") : nullptr;
  return origin != nullptr ? report::origin_from_name(origin->as_string()) : otherwise;
}

// The name says where the numbers come from, unless it does already or they are nobody's.
std::string name_with_origin(const std::string& name, report::Origin origin) {
  using report::Origin;
  const std::string word(report::origin_name(origin));
  if (origin == Origin::kPlain || origin == Origin::kIdeal) return name;
  if (name.find(word) != std::string::npos) return name;
  return name.empty() ? word : name + ", " + word;
}

// Origin is a property of each point: those of another origin than the series become a series of
// their own, of the same color.
void add_series(const Json& json, report::Chart& chart, const YamlView& view) {
  const Json* given = json.find("name");
  const std::string name = given != nullptr ? text_of(*given) : "";
  const Json* group = json.find("group");
  const report::Origin usual = origin_of(json, report::Origin::kPlain);
  std::vector<report::Series> parts;
  for (const Json& point : json.at("points").items()) {
    const report::Origin origin = origin_of(point, usual);
    auto part = std::find_if(parts.begin(), parts.end(),
                             [&](const report::Series& s) { return s.origin == origin; });
    if (part == parts.end()) {
      parts.push_back({name_with_origin(name, origin),
                       origin,
                       {},
                       group != nullptr && !text_of(*group).empty() ? text_of(*group) : name});
      part = parts.end() - 1;
    }
    part->points.push_back(point_of(point, chart, view));
  }
  for (report::Series& part : parts) chart.series.push_back(std::move(part));
}

// A line needs two points: with one of each series, bars show more.
void prefer_bars(report::Chart& chart) {
  if (chart.kind != report::ChartKind::kLine) return;
  for (const report::Series& series : chart.series) {
    if (series.points.size() > 1) return;
  }
  chart.kind = report::ChartKind::kBar;
  if (!chart.x.categories.empty()) return;
  for (report::Series& series : chart.series) {
    for (report::ChartPoint& point : series.points) {
      point.x = place_of(Json(fmt::format("{:g}", point.x)), chart.x);
    }
  }
}

report::Axis axis_of(const YamlView& view, std::string_view which, const Answers& answers) {
  report::Axis axis;
  const auto block = view.find(which);
  if (!block) return axis;
  block->only({"name", "log"});
  if (const auto name = block->find("name")) axis.name = filled(*name, answers);
  if (const auto log = block->find("log")) axis.log = log->boolean();
  return axis;
}

report::Chart chart_of(const YamlView& view, const Answers& answers) {
  view.only({"kind", "title", "caption", "x", "y", "series"});
  report::Chart chart;
  chart.kind = report::chart_kind_from_name(view.at("kind").text());
  chart.title = filled(view.at("title"), answers);
  if (const auto caption = view.find("caption")) chart.caption = filled(*caption, answers);
  chart.x = axis_of(view, "x", answers);
  chart.y = axis_of(view, "y", answers);
  const YamlView series = view.at("series");
  if (!series.json().is_array()) {
    const Json all = needed(series, answers);
    for (const Json& one : all.items()) add_series(one, chart, series);
    prefer_bars(chart);
    return chart;
  }
  for (const YamlView& one : series.items()) {
    one.only({"name", "origin", "group", "points"});
    Json json = Json::object({{"name", one.text_or("name", "")},
                              {"origin", one.text_or("origin", "plain")},
                              {"group", one.text_or("group", "")}});
    json["points"] = needed(one.at("points"), answers);
    add_series(json, chart, one);
  }
  prefer_bars(chart);
  return chart;
}

report::Picture picture_of(const YamlView& view, const Answers& answers) {
  view.only({"file", "caption"});
  const std::string file = filled(view.at("file"), answers);
  std::string png = read_file(file, kMaxPictureBytes);
  // The signature and the chunk with the size.
  if (png.size() < 24 || !png.starts_with("\x89PNG\r\n\x1a\n")) {
    view.fail(fmt::format("{} is no PNG file", file));
  }
  return {std::move(png), filled(view.at("caption"), answers)};
}

report::Listing listing_of(const YamlView& view, const Answers& answers) {
  view.only({"title", "columns"});
  report::Listing listing{filled(view.at("title"), answers), {}};
  const YamlView columns = view.at("columns");
  const Json result = needed(columns, answers);
  if (!result.is_array()) columns.fail("expected a query that gives [{title, lines}]");
  for (const Json& column : result.items()) {
    report::ListingColumn shown{text_of(column.at("title")), {}};
    for (const Json& line : column.at("lines").items()) {
      const Json* mark = line.find("mark");
      shown.lines.push_back({text_of(line.at("text")), mark == nullptr ? "" : text_of(*mark)});
    }
    listing.columns.push_back(std::move(shown));
  }
  return listing;
}

report::Formula formula_of(const YamlView& view, const Answers& answers) {
  const std::string source = filled(view, answers);
  try {
    return report::Formula(source);
  } catch (const Error& error) {
    view.fail(error.what());
  }
}

bool is_true(const Json& value) {
  return !value.is_null() && !(value.is_bool() && !value.as_bool());
}

// The blocks of one entry, most often one.
std::vector<report::Block> contents_of(const YamlView& view, const Answers& answers) {
  view.only({"heading", "text", "answer", "why", "code", "formula", "table", "chart", "picture",
             "listing", "when", "course"});
  std::vector<report::Block> blocks;
  if (const auto when = view.find("when")) {
    if (!is_true(asked(*when, answers))) return blocks;
  }
  const auto add = [&](report::Block block) { blocks.push_back(std::move(block)); };
  if (const auto block = view.find("heading")) add(report::Heading{filled(*block, answers)});
  if (const auto block = view.find("text")) add(report::Paragraph{filled(*block, answers)});
  if (const auto block = view.find("answer")) {
    add(report::Paragraph{filled(*block, answers), report::Tone::kAnswer});
  }
  if (const auto block = view.find("why")) {
    add(report::Paragraph{filled(*block, answers), report::Tone::kWhy});
  }
  if (const auto block = view.find("code")) {
    add(report::Paragraph{answers.filled(block->text(), block->where()), report::Tone::kCode});
  }
  if (const auto block = view.find("formula")) add(formula_of(*block, answers));
  if (const auto block = view.find("table")) add(table_of(*block, answers));
  if (const auto block = view.find("chart")) add(chart_of(*block, answers));
  if (const auto block = view.find("picture")) add(picture_of(*block, answers));
  if (const auto block = view.find("listing")) add(listing_of(*block, answers));
  return blocks;
}

// A block whose data are not all there leaves a note in its place.
std::vector<report::Block> blocks_of(const YamlView& view, const Answers& answers) {
  try {
    return contents_of(view, answers);
  } catch (const AbsentValue&) {
    return {report::Paragraph{
        fmt::format("Left out: the data lack a value that this part needs ({}).", view.where()),
        report::Tone::kNotice}};
  }
}

// "Homework 7, 2.3 (5 points) and Homework 5, A.3.1 (5 points)": what is asked, once for all that
// ask the same.
std::vector<report::Paragraph> asked_by_course(const std::vector<std::string>& ids) {
  std::vector<std::pair<std::string, std::vector<std::string>>> texts;
  for (const std::string& id : ids) {
    const CourseQuestion& question = course_question(id);
    auto known = std::find_if(texts.begin(), texts.end(),
                              [&](const auto& text) { return text.first == question.asks; });
    if (known == texts.end()) known = texts.insert(texts.end(), {question.asks, {}});
    known->second.push_back(fmt::format("{} ({} point{})", question.label, question.points,
                                        question.points == 1 ? "" : "s"));
  }
  std::vector<report::Paragraph> paragraphs;
  for (const auto& [asks, labels] : texts) {
    paragraphs.push_back({join(labels, " and ") + ": " + asks, report::Tone::kQuestion});
  }
  return paragraphs;
}

}  // namespace

std::vector<ReportSection> lab_sections(const Lab& lab, const Json& data) {
  const Answers answers(lab.file->json(), data, lab.functions);
  std::vector<ReportSection> sections = {{}};
  for (const YamlView& view : lab.file->root().at("report").items()) {
    const std::vector<std::string> questions = questions_of(view);
    const std::set<std::string> steps = steps_asked(lab, view.json());
    for (report::Block& block : blocks_of(view, answers)) {
      if (const auto* heading = std::get_if<report::Heading>(&block)) {
        sections.push_back({heading->text, questions, {}});
      } else {
        const bool all = view.find("heading").has_value();
        sections.back().items.push_back(
            {std::move(block), all ? std::vector<std::string>() : questions, steps});
      }
    }
  }
  return sections;
}

report::Document lab_document(const Lab& lab, const Json& data, const std::string& command) {
  report::Document document;
  const Answers answers(Json::object({{"title", lab.title}, {"question", lab.question}}), data,
                        lab.functions);
  document.title = answers.filled(lab.title, lab.name + ": title");
  document.lead = answers.filled(lab.question, lab.name + ": question");
  while (document.lead.ends_with('\n')) document.lead.pop_back();
  const auto add = [&](report::Block block) { document.blocks.push_back(std::move(block)); };
  const Json* scale = data.find("scale");
  if (scale != nullptr && scale->as_string() == scale_name(Scale::kCourse)) {
    add(report::Paragraph{"Settings are those of the course's configuration (`--scale course`)."});
  }
  const std::string weak = weak_evidence(lab, data);
  if (!weak.empty()) add(report::Paragraph{weak, report::Tone::kNotice});
  for (const ReportSection& section : lab_sections(lab, data)) {
    if (!section.heading.empty()) add(report::Heading{section.heading});
    std::set<std::string> said;  // what is asked, once in each section
    const auto ask_once = [&](const std::vector<std::string>& questions) {
      std::vector<std::string> fresh;
      for (const std::string& id : questions) {
        if (said.insert(id).second) fresh.push_back(id);
      }
      for (report::Paragraph& asked : asked_by_course(fresh)) add(std::move(asked));
    };
    ask_once(section.questions);
    for (const ReportItem& item : section.items) {
      ask_once(item.questions);
      add(item.block);
    }
  }
  add(report::Provenance{command, data.at("settings"), data.at("machine")});
  document.data = data;
  return document;
}

}  // namespace trainyard::lab
