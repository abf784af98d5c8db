#include "cluster/jobs/render.h"

#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/jobs/job_file.h"

namespace trainyard::jobs {
namespace {

// What we write has to pass the checks that others' files have to pass.
void check_own(const Rendering& rendering, const Format& format) {
  for (const RenderedFile& file : rendering.files) {
    const JobFile parsed = parse_job_file(file.text(), file.name, std::string(format.id));
    for (const Finding& finding : check_job_file(parsed).findings) {
      if (finding.severity == Severity::kWarning) continue;
      throw_error("{} would refuse the job: {}:{}: field '{}': {}", format.title, file.name,
                  finding.line, finding.field, finding.message);
    }
  }
}

}  // namespace

std::vector<const Format*> formats_of(std::span<const std::string> names) {
  std::vector<const Format*> formats;
  for (const std::string& list : names) {
    for (const std::string& name : split(list, ',')) {
      if (name == "all") {
        formats.insert(formats.end(), all_formats().begin(), all_formats().end());
      } else {
        formats.push_back(&find_format(name));
      }
    }
  }
  std::vector<const Format*> once;
  for (const Format* format : formats) {
    if (std::find(once.begin(), once.end(), format) == once.end()) once.push_back(format);
  }
  return once;
}

Rendering render(const Job& job, const Format& format) {
  Draft draft(job, std::string(format.id));
  format.render(draft);
  Rendering rendering = draft.take();
  check_own(rendering, format);
  return rendering;
}

std::string guide_of(const Rendering& rendering) {
  std::string text = fmt::format("# {}\n", find_format(rendering.platform).title);
  for (const Step& step : rendering.steps) {
    text += fmt::format("\n{}:\n\n    {}\n", step.what, step.command);
  }
  const auto list = [&](std::string_view title, const std::vector<Note>& notes) {
    if (notes.empty()) return;
    text += fmt::format("\n## {}\n\n", title);
    for (const Note& note : notes) text += fmt::format("- `{}`: {}\n", note.field, note.text);
  };
  list("What it cannot express", rendering.missing);
  list("Notes", rendering.notes);
  return text;
}

std::vector<std::string> write_renderings(std::span<const Rendering> renderings,
                                          const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) throw_failure("{}: cannot make the folder: {}", folder, problem.message());
  std::vector<std::string> paths;
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    write_file(path, text);
    paths.push_back(path.string());
  };
  for (const Rendering& rendering : renderings) {
    for (const RenderedFile& file : rendering.files) write(file.name, file.text());
    write(rendering.platform + ".md", guide_of(rendering));
  }
  return paths;
}

}  // namespace trainyard::jobs
