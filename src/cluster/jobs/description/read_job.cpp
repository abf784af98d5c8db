// job.yaml in.
#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shell.h"
#include "base/yaml.h"
#include "cluster/jobs/description/job.h"
#include "cluster/jobs/description/schema.h"
#include "cluster/jobs/description/secrets.h"

namespace trainyard::jobs {
namespace {

// Line breaks in a value could add lines to a script or fields to a file that is written from it.
// A text that stays on its line wherever it is written.
std::string line_text(const YamlView& view) {
  std::string text = view.json().is_bool() ? (view.boolean() ? "true" : "false") : view.text();
  const bool broken = std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (broken) view.fail("expected one line of text, found control characters");
  return text;
}

std::string text_at(const YamlView& view, std::string_view key) {
  const auto found = view.find(key);
  return found ? line_text(*found) : std::string();
}

int64_t integer_at(const YamlView& view, std::string_view key, int64_t fallback) {
  const auto found = view.find(key);
  return found ? found->integer() : fallback;
}

// A list is taken as it is; a text is split like a shell does, without expanding anything.
std::vector<std::string> words_at(const YamlView& view, std::string_view key) {
  const auto found = view.find(key);
  if (!found) return {};
  std::vector<std::string> words;
  if (found->json().is_array()) {
    for (const YamlView& item : found->items()) words.push_back(item.text());
  } else {
    try {
      words = shell_words(found->text());
    } catch (const Error& problem) {
      found->fail(problem.what());
    }
  }
  if (words.empty() || words[0].empty()) found->fail("expected a program and its arguments");
  return words;
}

Pairs pairs_at(const YamlView& view, std::string_view key) {
  Pairs pairs;
  if (const auto found = view.find(key)) {
    for (const auto& [name, value] : found->members()) pairs.emplace_back(name, line_text(value));
  }
  return pairs;
}

std::vector<DataPlace> places_at(const YamlView& view, std::string_view key) {
  std::vector<DataPlace> places;
  const auto found = view.find(key);
  if (!found) return places;
  for (const auto& [name, value] : found->members()) {
    if (value.json().is_object()) {
      places.push_back({name, line_text(value.at("uri")), text_at(value, "mode")});
    } else {
      places.push_back({name, line_text(value)});
    }
  }
  return places;
}

void read_machine(const YamlView& root, Job& job) {
  const auto machine = root.find("machine");
  if (!machine) return;
  job.accelerator = text_at(*machine, "accelerator");
  job.count = integer_at(*machine, "count", job.accelerator.empty() ? 0 : 1);
  job.cpus = integer_at(*machine, "cpus", 0);
  job.memory_gib = integer_at(*machine, "memory_gib", 0);
  job.disk_gib = integer_at(*machine, "disk_gib", 0);
  if (job.count > 0 && job.accelerator.empty()) {
    machine->at("count").fail("accelerators without a kind; name one as accelerator: v100");
  }
  if (job.count == 0 && !job.accelerator.empty()) {
    machine->at("count").fail(
        fmt::format("no {} at all; leave out 'accelerator' for processors "
                    "alone",
                    job.accelerator));
  }
}

void read_launch(const YamlView& root, Job& job) {
  job.nodes = integer_at(root, "nodes", 1);
  job.processes_per_node = integer_at(root, "processes_per_node", 1);
  // Several processes without a launcher named are taken for MPI's.
  const std::string fallback = job.processes() > 1 ? "mpi" : "none";
  const std::string name = root.text_or("launcher", fallback);
  job.launcher = name == "mpi"     ? Launcher::kMpi
                 : name == "torch" ? Launcher::kTorch
                                   : Launcher::kNone;
  if (job.launcher == Launcher::kNone && job.processes_per_node > 1) {
    root.at("processes_per_node").fail("several processes need a launcher: mpi or torch");
  }
  if (const auto limit = root.find("time_limit")) {
    job.time_limit_s = limit->json().is_int() ? limit->integer() : parse_duration(limit->text());
    if (job.time_limit_s < 1) limit->fail("expected more than no time");
  }
  if (const auto spot = root.find("spot")) job.spot = spot->boolean();
  job.retries = integer_at(root, "retries", 0);
}

void read_workload(const YamlView& root, Job& job) {
  const auto view = root.find("workload");
  if (!view) return;
  Workload workload;
  workload.model = text_at(*view, "model");
  workload.batch = integer_at(*view, "batch", 0);
  workload.epochs = view->number_or("epochs", 0);
  workload.images = integer_at(*view, "images", 0);
  workload.precision = view->text_or("precision", "fp32");
  job.workload = workload;
}

// Lines of settings are single lines too, save for scripts.
void read_platforms(const YamlView& root, Job& job) {
  const auto platforms = root.find("platforms");
  if (!platforms) return;
  for (const auto& [platform, options] : platforms->members()) {
    for (const auto& [key, value] : options.members()) {
      if (value.json().is_object()) {
        for (const auto& [name, text] : value.members()) line_text(text);
      } else if (key != "setup") {
        line_text(value);
      }
    }
  }
  job.platforms = platforms->json();
}

// Looks at what people paste by mistake: variables, references that are values, the command line.
void look_for_secrets(const YamlView& root, std::vector<std::string>& warnings) {
  const auto look = [&](const std::string& name, const YamlView& value) {
    const std::string why =
        secret_suspicion(name, value.json().is_string() ? value.text() : value.json().dump(-1));
    if (!why.empty()) {
      warnings.push_back(
          fmt::format("{}: {}; name it under 'secrets' instead", value.where(), why));
    }
  };
  if (const auto environment = root.find("environment")) {
    for (const auto& [name, value] : environment->members()) look(name, value);
  }
  if (const auto secrets = root.find("secrets")) {
    for (const auto& [name, value] : secrets->members()) look("", value);
  }
  if (const auto command = root.find("command"); command && command->json().is_string()) {
    look("", *command);
  }
}

}  // namespace

// Aliases are refused: a small file could expand to a large one.
Job read_job(std::string_view text, const std::string& origin, std::vector<std::string>& warnings) {
  const auto document = YamlDocument::parse_without_aliases(text, origin);
  const YamlView root = document->root();
  Findings findings;
  check_against(root, schema("job.schema.json"), findings);
  // The first finding is the error, as later ones often follow from it.
  const std::vector<Finding> found = findings.take();
  if (!found.empty()) {
    const std::string more = found.size() == 1
                                 ? ""
                                 : fmt::format(" ({} more; 'trainyard jobs check {}' lists them)",
                                               found.size() - 1, origin);
    throw_error("{}:{}: {}{}{}", origin, found[0].line,
                found[0].field.empty() ? "" : fmt::format("field '{}': ", found[0].field),
                found[0].message, more);
  }
  Job job;
  job.source = document;
  job.name = line_text(root.at("name"));
  job.description = text_at(root, "description");
  job.image = text_at(root, "image");
  job.code = text_at(root, "code");
  job.command = words_at(root, "command");
  job.resume = words_at(root, "resume");
  job.environment = pairs_at(root, "environment");
  job.secrets = pairs_at(root, "secrets");
  job.inputs = places_at(root, "inputs");
  job.outputs = places_at(root, "outputs");
  job.checkpoints = text_at(root, "checkpoints");
  read_machine(root, job);
  read_launch(root, job);
  job.tags = pairs_at(root, "tags");
  job.metrics = pairs_at(root, "metrics");
  read_workload(root, job);
  read_platforms(root, job);
  look_for_secrets(root, warnings);
  if (const std::string idle = idle_accelerators(job); !idle.empty()) {
    warnings.push_back(fmt::format("{}: {}", root.at("machine").at("accelerator").where(), idle));
  }
  return job;
}

}  // namespace trainyard::jobs
