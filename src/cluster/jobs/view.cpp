#include "cluster/jobs/view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "cluster/jobs/render.h"

namespace trainyard::report {
namespace {

Json notes_json(std::span<const jobs::Note> notes) {
  Json list = Json::array();
  for (const jobs::Note& note : notes) {
    list.push_back(Json::object({{"field", note.field}, {"text", note.text}}));
  }
  return list;
}

// Each line with the field of the job that it expresses, so that pages can color one field across
// platforms.
Json lines_json(const jobs::RenderedFile& file) {
  Json lines = Json::array();
  for (const jobs::RenderedLine& line : file.lines) {
    lines.push_back(Json::object({{"text", line.text}, {"mark", line.field}}));
  }
  return lines;
}

Json rendering_json(const jobs::Rendering& rendering) {
  Json files = Json::array();
  for (const jobs::RenderedFile& file : rendering.files) {
    files.push_back(
        Json::object({{"name", file.name}, {"text", file.text()}, {"lines", lines_json(file)}}));
  }
  Json fields = Json::array();
  for (const jobs::FieldMapping& field : rendering.fields) {
    fields.push_back(
        Json::object({{"field", field.field}, {"path", field.path}, {"value", field.value}}));
  }
  Json steps = Json::array();
  for (const jobs::Step& step : rendering.steps) {
    steps.push_back(Json::object({{"what", step.what}, {"command", step.command}}));
  }
  return Json::object({{"platform", rendering.platform},
                       {"title", jobs::find_format(rendering.platform).title},
                       {"files", std::move(files)},
                       {"fields", std::move(fields)},
                       {"missing", notes_json(rendering.missing)},
                       {"notes", notes_json(rendering.notes)},
                       {"steps", std::move(steps)}});
}

// What the platform cannot express is as much part of the answer as the file itself.
void add_field_notes(const jobs::Rendering& rendering, Document& document) {
  if (rendering.missing.empty() && rendering.notes.empty()) return;
  Table table({{"field", Align::kLeft}, {"", Align::kLeft}, {"note", Align::kLeft}});
  for (const jobs::Note& note : rendering.missing) {
    table.add_row({note.field, "not expressed", note.text});
  }
  for (const jobs::Note& note : rendering.notes) table.add_row({note.field, "note", note.text});
  document.blocks.emplace_back(std::move(table));
}

}  // namespace

Document rendering_document(std::span<const jobs::Rendering> renderings,
                            std::span<const std::string> paths,
                            std::span<const std::string> warnings) {
  Document document;
  Json list = Json::array();
  for (const std::string& warning : warnings) {
    document.blocks.emplace_back(Paragraph{"warning: " + warning});
  }
  for (const jobs::Rendering& rendering : renderings) {
    list.push_back(rendering_json(rendering));
    document.blocks.emplace_back(Heading{std::string(jobs::find_format(rendering.platform).title)});
    if (paths.empty()) {
      for (const jobs::RenderedFile& file : rendering.files) {
        document.blocks.emplace_back(Paragraph{file.name});
        std::string text = file.text();
        // Blocks of code end without a newline of their own.
        text.pop_back();
        document.blocks.emplace_back(Paragraph{std::move(text), Tone::kCode});
      }
    }
    for (const jobs::Step& step : rendering.steps) {
      document.blocks.emplace_back(Paragraph{fmt::format("{}: {}", step.what, step.command)});
    }
    add_field_notes(rendering, document);
  }
  if (!paths.empty()) {
    const std::vector<std::string> all(paths.begin(), paths.end());
    document.blocks.emplace_back(Paragraph{"wrote " + join(all, ", ")});
  }
  document.data = Json::object({{"renderings", std::move(list)},
                                {"files", Json::array_of(paths)},
                                {"warnings", Json::array_of(warnings)}});
  return document;
}

Document check_document(const std::string& file, const jobs::CheckResult& result) {
  Document document;
  Json findings = Json::array();
  Table table({{"line"}, {"field", Align::kLeft}, {"", Align::kLeft}, {"finding", Align::kLeft}});
  for (const jobs::Finding& finding : result.findings) {
    const char* severity = finding.severity == jobs::Severity::kError ? "error" : "warning";
    table.add_row({std::to_string(finding.line), finding.field, severity, finding.message});
    findings.push_back(Json::object({{"line", finding.line},
                                     {"field", finding.field},
                                     {"severity", severity},
                                     {"message", finding.message}}));
  }
  document.blocks.emplace_back(
      Paragraph{result.findings.empty() ? fmt::format("{} ({}): ok", file, result.kind)
                                        : fmt::format("{} ({}): {}, {} findings", file, result.kind,
                                                      result.ok() ? "ok" : "would be refused",
                                                      result.findings.size())});
  if (!result.findings.empty()) document.blocks.emplace_back(std::move(table));
  document.data = Json::object({{"file", file},
                                {"kind", result.kind},
                                {"ok", result.ok()},
                                {"findings", std::move(findings)}});
  return document;
}

Document import_document(const jobs::Job& job) {
  Document document;
  std::string text = jobs::job_yaml(job);
  text.pop_back();
  document.blocks.emplace_back(Paragraph{std::move(text), Tone::kCode});
  document.data = jobs::job_json(job);
  return document;
}

// Sections follow each other in the catalog, so a table ends where the next section begins. Sources
// are listed below each table, once for each platform and date: every cell of the catalog has one.
Document platforms_document(std::span<const std::string> only) {
  std::vector<jobs::OverviewPlatform> shown;
  std::vector<std::string> ids;
  for (const jobs::OverviewPlatform& platform : jobs::overview_platforms()) {
    ids.push_back(platform.id);
    const bool wanted =
        only.empty() || std::find(only.begin(), only.end(), platform.id) != only.end();
    if (wanted) shown.push_back(platform);
  }
  for (const std::string& id : only) {
    TY_REQUIRE(std::find(ids.begin(), ids.end(), id) != ids.end(),
               "the table has no platform '{}'.{} It has {}", id, did_you_mean(id, ids),
               join(ids, ", "));
  }
  Document document;
  document.title = "Training services";
  document.data["rows"] = Json::array();
  std::vector<Column> columns = {{"", Align::kLeft}};
  for (const jobs::OverviewPlatform& platform : shown)
    columns.push_back({platform.title, Align::kLeft});
  std::string section;
  std::vector<Table> tables;
  std::vector<std::string> sources;
  // `tables` holds the table under way, if any.
  const auto finish = [&] {
    if (tables.empty()) return;
    document.blocks.emplace_back(Heading{section});
    document.blocks.emplace_back(std::move(tables.back()));
    document.blocks.emplace_back(Paragraph{"Sources: " + join(sources, "; ")});
    tables.clear();
    sources.clear();
  };
  for (const jobs::OverviewRow& row : jobs::overview()) {
    if (row.section != section) {
      finish();
      section = row.section;
      tables.emplace_back(columns);
    }
    std::vector<Cell> cells = {row.topic};
    Json json =
        Json::object({{"section", row.section}, {"topic", row.topic}, {"cells", Json::array()}});
    for (const jobs::OverviewCell& cell : row.cells) {
      const auto found = std::find_if(shown.begin(), shown.end(), [&](const auto& platform) {
        return platform.id == cell.platform;
      });
      if (found == shown.end()) continue;
      cells.emplace_back(cell.text);
      const std::string source = fmt::format("{}: {}, {}", found->title, cell.source, cell.date);
      if (std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
      json["cells"].push_back(Json::object({{"platform", cell.platform},
                                            {"text", cell.text},
                                            {"source", cell.source},
                                            {"date", cell.date}}));
    }
    tables.back().add_row(std::move(cells));
    document.data["rows"].push_back(std::move(json));
  }
  finish();
  return document;
}

// A cell says path = value where the platform expresses the field, and why not otherwise.
Document compare_document(const jobs::Job& job, std::span<const jobs::Rendering> renderings,
                          std::span<const jobs::ComparedRow> rows) {
  Document document;
  document.title = fmt::format("The fields of {}, platform by platform", job.name);
  document.data = Json::object({{"job", jobs::job_json(job)},
                                {"rows", Json::array()},
                                {"differences", Json::array_of(jobs::differences(rows))},
                                {"listings", Json::array()}});
  constexpr size_t kWidestCell = 40;  // on a terminal
  std::vector<Column> columns = {{"field", Align::kLeft}};
  for (const jobs::Rendering& rendering : renderings) {
    columns.push_back({rendering.platform, Align::kLeft, kWidestCell});
  }
  Table table(std::move(columns));
  for (const jobs::ComparedRow& row : rows) {
    std::vector<Cell> cells = {row.field};
    Json json = Json::object({{"field", row.field}, {"cells", Json::array()}});
    for (const jobs::ComparedCell& cell : row.cells) {
      cells.emplace_back(cell.path.empty() ? "– " + cell.value
                                           : fmt::format("{} = {}", cell.path, cell.value));
      json["cells"].push_back(
          Json::object({{"platform", cell.platform}, {"path", cell.path}, {"value", cell.value}}));
    }
    table.add_row(std::move(cells));
    document.data["rows"].push_back(std::move(json));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(Heading{"What differs"});
  for (const std::string& line : jobs::differences(rows)) {
    document.blocks.emplace_back(Paragraph{"- " + line});
  }
  Listing listing{"The files; lines of one field have one color", {}};
  for (const jobs::Rendering& rendering : renderings) {
    ListingColumn column{rendering.files[0].name, {}};
    for (const jobs::RenderedLine& line : rendering.files[0].lines) {
      column.lines.push_back({line.text, line.field});
    }
    document.data["listings"].push_back(
        Json::object({{"title", column.title}, {"lines", lines_json(rendering.files[0])}}));
    listing.columns.push_back(std::move(column));
  }
  document.blocks.emplace_back(std::move(listing));
  return document;
}

}  // namespace trainyard::report
