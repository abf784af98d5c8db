#include "cluster/jobs/job_file.h"

#include <algorithm>
#include <charconv>
#include <regex>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/jobs/description/machines.h"
#include "cluster/jobs/formats/common.h"
#include "cluster/jobs/formats/slurm_script.h"

namespace trainyard::jobs {
namespace {

constexpr int64_t kLargest = 1 << 20;

// JSON writes characters beyond 16 bits as two escapes, YAML as one of eight digits.
std::string with_yaml_escapes(const std::string& text) {
  static const std::regex kPair(
      R"(\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2}))");
  std::string out;
  auto at = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), kPair), end; match != end; ++match) {
    const auto high = std::stoul((*match)[1], nullptr, 16) - 0xd800;
    const auto low = std::stoul((*match)[2], nullptr, 16) - 0xdc00;
    out.append(at, (*match)[0].first);
    // Behind an odd number of backslashes it is text, not an escape.
    const size_t slashes = out.size() - (out.find_last_not_of('\\') + 1);
    out += slashes % 2 == 1 ? match->str() : fmt::format("\\U{:08x}", 0x10000 + (high << 10) + low);
    at = (*match)[0].second;
  }
  out.append(at, text.end());
  return out;
}

const Format* recognized(const Json& root, const std::string& origin) {
  for (const Format* format : all_formats()) {
    if (format->recognize(root)) return format;
  }
  if (root.find("command") != nullptr || root.find("machine") != nullptr) return nullptr;
  std::vector<std::string> names = {"job"};
  for (const Format* format : all_formats()) names.emplace_back(format->id);
  throw_error("{}: no job of any kind that is known; say which it should be with --as ({})", origin,
              join(names, ", "));
}

// "job.yaml:12: field 'x': …" as a finding at its line.
Finding finding_of(Severity severity, const std::string& message, const std::string& origin) {
  Finding finding{severity, 1, "", message};
  if (!message.starts_with(origin + ":")) return finding;
  // Stays 1 where no number follows.
  std::from_chars(message.data() + origin.size() + 1, message.data() + message.size(),
                  finding.line);
  const size_t colon = message.find(": ", origin.size());
  finding.message = message.substr(colon + 2);
  constexpr std::string_view kField = "field '";
  const size_t end = finding.message.find("': ");
  if (finding.message.starts_with(kField) && end != std::string::npos) {
    finding.field = finding.message.substr(kField.size(), end - kField.size());
    finding.message.erase(0, end + 3);
  }
  return finding;
}

// What the schema of job.yaml does not see: the first problem, and suspected secrets.
void check_job(const JobFile& file, Findings& findings) {
  const std::string& origin = file.document->origin();
  std::vector<std::string> warnings;
  try {
    const Job job = read_job(file.text, origin, warnings);
    require_known_accelerator(job);
    filled(job, job.command,
           known_places(job, "", [](auto, const DataPlace& place) { return place.uri; }));
  } catch (const Error& problem) {
    findings.add(finding_of(Severity::kError, problem.what(), origin));
  }
  for (const std::string& warning : warnings) {
    findings.add(finding_of(Severity::kWarning, warning, origin));
  }
}

// Whether the command of a platform's file can use what it rents.
void check_use(const JobFile& file, Findings& findings) {
  try {
    const std::string idle = idle_accelerators(file.format->import(file.document->root()));
    if (!idle.empty()) findings.add({Severity::kWarning, 1, "", idle});
  } catch (const Error&) {
    // What cannot be imported may still be a valid file; there is nothing to say about its command.
  }
}

}  // namespace

bool CheckResult::ok() const {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.severity == Severity::kError; });
}

JobFile parse_job_file(std::string text, const std::string& origin, const std::string& kind) {
  JobFile file;
  file.text = std::move(text);
  const bool script = kind == "slurm" || (kind.empty() && slurm::is_script(file.text));
  file.document = YamlDocument::parse_without_aliases(
      script ? slurm::as_yaml(file.text, origin) : with_yaml_escapes(file.text), origin);
  if (kind == "job") return file;
  if (!file.document->json().is_object()) {
    throw_error("{}:1: expected the fields of a job, found {}", origin,
                file.document->json().is_array() ? "a list" : "a single value");
  }
  file.format = kind.empty() ? recognized(file.document->json(), origin) : &find_format(kind);
  return file;
}

JobFile open_job_file(const std::string& path, const std::string& kind) {
  return parse_job_file(read_file(path, kLargest), path, kind);
}

CheckResult check_job_file(const JobFile& file) {
  Findings findings;
  const YamlView root = file.document->root();
  if (file.format == nullptr) {
    check_against(root, schema("job.schema.json"), findings);
    if (!findings.has_errors()) check_job(file, findings);
  } else {
    check_against(root, schema(file.format->schema(root.json())), findings);
    try {
      file.format->check(root, findings);
    } catch (const Error& problem) {
      findings.add(finding_of(Severity::kError, problem.what(), file.document->origin()));
    }
    check_placeholders(root, findings);
    if (!findings.has_errors()) check_use(file, findings);
  }
  return {std::string(file.kind()), findings.take()};
}

Job import_job_file(const JobFile& file) {
  if (file.format == nullptr) {
    std::vector<std::string> warnings;
    return read_job(file.text, file.document->origin(), warnings);
  }
  Job job = file.format->import(file.document->root());
  if (job.command.empty()) {
    throw_error("{}: the job has no command of its own; name one to import it",
                file.document->origin());
  }
  return job;
}

}  // namespace trainyard::jobs
