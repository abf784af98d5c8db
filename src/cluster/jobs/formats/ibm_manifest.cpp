#include "cluster/jobs/formats/ibm_manifest.h"

#include <fmt/format.h>

#include "base/shell.h"
#include "cluster/jobs/formats/common.h"

namespace trainyard::jobs::ibm {
namespace {

constexpr std::string_view kNames = "ibm-v3";

const Machine* manifest_machine(const Job& job) {
  for (const Machine& machine : machines()) {
    if (machine.service == kNames && machine.accelerator == job.accelerator &&
        machine.whole_count() == job.count) {
      return &machine;
    }
  }
  return nullptr;
}

// Credentials stay out of the file.
Json bucket(const char* key, const std::string& text) {
  Json connection = Json::object({{"endpoint_url", "https://REPLACE-ME"},
                                  {"access_key_id", "REPLACE-ME"},
                                  {"secret_access_key", "REPLACE-ME"}});
  Json reference = Json::object({{"type", "s3"}, {"connection", std::move(connection)}});
  reference[key] = Json::object({{"bucket", text.empty() ? "REPLACE-ME" : parse_uri(text).host}});
  return reference;
}

std::string first_uri(const Job& job, const std::vector<DataPlace>& places) {
  return places.empty() ? "" : uri_for(job, "ibm", places[0].name, places[0].uri);
}

}  // namespace

bool is_manifest(const Json& root) {
  const Json* definition = root.find("model_definition");
  return definition != nullptr && definition->find("execution") != nullptr;
}

void add_manifest(Draft& draft, const std::string& name, const std::string& command) {
  const Job& job = draft.job();
  const Machine* machine = manifest_machine(job);
  if (machine == nullptr) {
    draft.note("machine.count",
               "no manifest of version 3: it names k80, k80x2, k80x4, p100, p100x2, "
               "v100 and v100x2 alone");
    return;
  }
  draft.set("model_definition.name", name);
  draft.set("model_definition.description", job.description.empty() ? name : job.description);
  draft.set("model_definition.framework", Json::object({{"name", "pytorch"}, {"version", "1.0"}}));
  draft.set("model_definition.execution.command", command);
  draft.set("model_definition.execution.compute_configuration",
            Json::object({{"name", machine->name}, {"nodes", job.nodes}}));
  draft.set("training_data_reference", bucket("source", first_uri(job, job.inputs)));
  draft.set("training_results_reference", bucket("target", first_uri(job, job.outputs)));
  draft.finish_file("ibm-manifest.yaml", Draft::Style::kYaml);
  draft.note("platforms.ibm", "the manifest is of version 3 (2018), which may no longer be served");
}

void check_manifest(const YamlView& root, Findings& findings) {
  for (const std::string_view key : {"training_data_reference", "training_results_reference"}) {
    const auto reference = root.find(key);
    const auto connection = reference ? reference->find("connection") : std::nullopt;
    if (connection && connection->json().is_object()) check_plain_secrets(*connection, findings);
  }
}

Job import_manifest(const YamlView& root) {
  Job job;
  const YamlView definition = root.at("model_definition");
  job.name = definition.at("name").text();
  job.description = text_in(definition, "description");
  const YamlView execution = definition.at("execution");
  job.command = shell_words(execution.at("command").text());
  if (const auto compute = execution.find("compute_configuration")) {
    job.nodes = integer_in(*compute, "nodes", 1);
    const Machine* machine = find_machine(kNames, text_in(*compute, "name"));
    if (machine != nullptr) {
      job.accelerator = machine->accelerator;
      job.count = machine->whole_count();
    }
  }
  const auto place = [&](std::string_view key, std::string_view side, std::string_view name) {
    const auto reference = root.find(key);
    const auto end = reference ? reference->find(side) : std::nullopt;
    const std::string where = end ? text_in(*end, "bucket") : "";
    if (where.empty() || where == "REPLACE-ME") return std::vector<DataPlace>();
    return std::vector<DataPlace>{{std::string(name), "s3://" + where}};
  };
  job.inputs = place("training_data_reference", "source", "data");
  job.outputs = place("training_results_reference", "target", "results");
  return job;
}

}  // namespace trainyard::jobs::ibm
