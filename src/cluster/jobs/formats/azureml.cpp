// Azure Machine Learning: a command job of the CLI, version 2.
#include <fmt/format.h>

#include "base/shell.h"
#include "cluster/jobs/formats/common.h"

namespace trainyard::jobs {

extern const Format kAzureMl;

namespace azureml {
namespace {

constexpr std::string_view kPlatform = "azureml";
constexpr std::string_view kTitle = "Azure ML";
const std::vector<std::string_view>& schemes() {
  static const std::vector<std::string_view> kSchemes = {"azureml", "https", "wasbs", "abfss"};
  return kSchemes;
}
constexpr std::string_view kExpansion = "${{";

// Also "azureml:NAME:VERSION", a data asset, which is no URI.
bool is_reachable(const std::string& uri) {
  const std::string scheme = parse_uri(uri).scheme;
  return std::find(schemes().begin(), schemes().end(), scheme) != schemes().end() ||
         uri.starts_with("azureml:");
}

std::vector<PlacePath> places_of(const Job& job) {
  return known_places(job, kPlatform, [](std::string_view kind, const DataPlace& place) {
    if (!is_reachable(place.uri)) return place.uri;
    if (kind == "checkpoints") return std::string("${{outputs.checkpoints}}");
    return fmt::format("${{{{{}.{}}}}}", kind, place.name);
  });
}

// Azure replaces ${{…}} before a shell sees the line, and knows no way to write it as it is.
void refuse_expansions(const Job& job) {
  for (const std::string& word : job.command) {
    if (word.find(kExpansion) != std::string::npos) {
      job.fail("command", fmt::format("'{}' would be expanded by Azure ML", word));
    }
  }
}

void put_program(Draft& draft) {
  const Job& job = draft.job();
  refuse_expansions(job);
  draft.put("command", "command", command_line(filled(job, job.command, places_of(job))));
  if (!job.code.empty()) draft.put("code", "code", job.code);
  const std::string environment = job.option(kPlatform, "environment");
  if (environment.empty()) {
    draft.put("image", "environment.image", needed_image(job, kAzureMl));
  } else {
    draft.set("environment", environment);
    if (!job.image.empty())
      draft.cannot("image", "platforms.azureml.environment stands in its place");
  }
  draft.put_pairs("environment", "environment_variables", job.environment);
}

// The catalog has the sizes with GPUs; those without are Azure's to choose, or the job's to name.
bool is_gpu_size(const std::string& name) {
  return name.starts_with("Standard_N");
}

std::string put_size(Draft& draft) {
  const Job& job = draft.job();
  const std::string at = "resources.instance_type";
  std::string named = job.option(kPlatform, "instance_type");
  if (job.count == 0 && !is_gpu_size(named)) {
    if (!named.empty()) draft.set(at, named);
    const std::string why =
        "sizes without GPUs are not in the catalog; name one at platforms.azureml.instance_type";
    if (named.empty())
      draft.note("platforms.azureml.instance_type", "Azure ML chooses a size without GPUs");
    if (job.cpus > 0) draft.cannot("machine.cpus", why);
    if (job.memory_gib > 0) draft.cannot("machine.memory_gib", why);
    return named;
  }
  const Machine& machine = choose_machine(job, kPlatform, kTitle, "instance_type");
  draft.set(at, machine.name);
  says_machine_size(draft, at, machine);
  return machine.name;
}

// A cluster that exists stands instead of a size; its machines are not ours to choose.
void put_resources(Draft& draft) {
  const Job& job = draft.job();
  const std::string cluster = job.option(kPlatform, "compute");
  std::string at = "resources.instance_type";
  std::string value;
  if (cluster.empty()) {
    value = put_size(draft);
  } else {
    at = "compute";
    value = cluster.starts_with("azureml:") ? cluster : "azureml:" + cluster;
    draft.set(at, value);
    const std::string why = "the cluster's machines are what they are";
    if (job.cpus > 0) draft.cannot("machine.cpus", why);
    if (job.memory_gib > 0) draft.cannot("machine.memory_gib", why);
  }
  if (job.count > 0) {
    draft.says("machine.accelerator", at, value);
    draft.says("machine.count", at, value);
  }
  draft.put("nodes", "resources.instance_count", job.nodes);
  if (job.launcher != Launcher::kNone) {
    draft.put("launcher", "distribution.type", job.launcher == Launcher::kMpi ? "mpi" : "pytorch");
    draft.put("processes_per_node", "distribution.process_count_per_instance",
              job.processes_per_node);
  }
  if (job.time_limit_s > 0) draft.put("time_limit", "limits.timeout", job.time_limit_s);
  if (job.spot && cluster.empty()) draft.put("spot", "queue_settings.job_tier", "spot");
  if (job.spot && !cluster.empty()) {
    draft.cannot("spot", "of a cluster it is the cluster's own: tier: low_priority");
  }
}

void put_data(Draft& draft) {
  const Job& job = draft.job();
  bool reached = false;
  for (DataPlace place : job.inputs) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!is_reachable(place.uri)) {
      reachable(draft, "inputs", place, schemes(), kAzureMl);
      continue;
    }
    reached = true;
    const char* mode = place.mode == "download" ? "download"
                       : place.mode == "stream" ? "direct"
                                                : "ro_mount";
    draft.put("inputs", "inputs." + place.name,
              Json::object({{"type", "uri_folder"}, {"path", place.uri}, {"mode", mode}}));
  }
  if (!reached && !job.inputs.empty()) draft.cannot("inputs", "none of them is a place of Azure's");
  reached = false;
  const auto put_output = [&](std::string_view field, DataPlace place) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!is_reachable(place.uri)) return reachable(draft, field, place, schemes(), kAzureMl);
    const char* mode = place.mode == "upload" ? "upload" : "rw_mount";
    draft.put(field, "outputs." + place.name,
              Json::object({{"type", "uri_folder"}, {"path", place.uri}, {"mode", mode}}));
    return true;
  };
  for (const DataPlace& place : job.outputs) reached = put_output("outputs", place) || reached;
  if (!reached && !job.outputs.empty())
    draft.cannot("outputs", "none of them is a place of Azure's");
  if (job.checkpoints.empty()) return;
  if (!put_output("checkpoints", {"checkpoints", job.checkpoints, "mount"})) {
    draft.cannot("checkpoints", "not a place of Azure's");
  }
}

void put_rest(Draft& draft) {
  const Job& job = draft.job();
  draft.put_pairs("tags", "tags", job.tags);
  if (job.disk_gib > 0) draft.cannot("machine.disk_gib", "it comes with the machine");
  if (job.retries > 0) draft.cannot("retries", "the job has none; submit it again");
  if (!job.metrics.empty())
    draft.cannot("metrics", "logs are not searched; the program calls mlflow.log_metric");
  if (!job.secrets.empty()) {
    draft.cannot("secrets",
                 "no field: let the program read Key Vault, with the identity of the job");
  }
  restarts_with_command(draft, kTitle);
}

void put_steps(Draft& draft) {
  const Job& job = draft.job();
  const std::string in =
      fmt::format("-g {} -w {}", command_line({job.option(kPlatform, "resource_group", "GROUP")}),
                  command_line({job.option(kPlatform, "workspace", "WORKSPACE")}));
  const std::string name = draft.root().at("name").as_string();
  draft.step("submit", fmt::format("az ml job create -f azureml.yaml {}", in));
  draft.step("watch", fmt::format("az ml job stream -n {} {}", name, in));
  draft.step("fetch", fmt::format("az ml job download -n {} --all {}", name, in));
  draft.step("stop", fmt::format("az ml job cancel -n {} {}", name, in));
}

void render(Draft& draft) {
  const Job& job = draft.job();
  draft.set("$schema", "https://azuremlschemas.azureedge.net/latest/commandJob.schema.json");
  draft.set("type", "command");
  draft.put("name", "name", name_for(draft, {.extra = "-_", .longest = 255}, kTitle));
  const std::string experiment = job.option(kPlatform, "experiment");
  if (!experiment.empty()) draft.set("experiment_name", experiment);
  if (!job.description.empty()) draft.put("description", "description", job.description);
  put_program(draft);
  put_resources(draft);
  put_data(draft);
  put_rest(draft);
  draft.note("name", "unique in the workspace: change it for a second run");
  put_steps(draft);
  draft.finish_file("azureml.yaml", Draft::Style::kYaml);
}

void check(const YamlView& root, Findings& findings) {
  if (const auto variables = root.find("environment_variables");
      variables && variables->json().is_object()) {
    check_plain_secrets(*variables, findings);
  }
  const auto resources = root.find("resources");
  const auto type = resources ? resources->find("instance_type") : std::nullopt;
  const auto queue = root.find("queue_settings");
  if (root.find("compute") && queue && text_in(*queue, "job_tier") == "spot") {
    findings.error(*queue, "a job on a cluster is spot by the cluster's tier: low_priority");
  }
  const auto distribution = root.find("distribution");
  const auto count = resources ? resources->find("instance_count") : std::nullopt;
  if (count && count->json().is_int() && count->integer() > 1 && !distribution) {
    findings.warning(*count,
                     "several nodes without 'distribution': each runs the command by itself");
  }
  if (!type || !type->json().is_string()) return;
  if (is_gpu_size(type->text())) check_machine_name(*type, kPlatform, findings);
  const Machine* machine = find_machine(kPlatform, type->text());
  const auto processes =
      distribution ? distribution->find("process_count_per_instance") : std::nullopt;
  if (machine == nullptr || !processes || !processes->json().is_int()) return;
  if (machine->whole_count() > 0 && processes->integer() > machine->whole_count()) {
    findings.error(*processes,
                   fmt::format("{} processes on {}, which has {} accelerators",
                               processes->integer(), machine->name, machine->whole_count()));
  }
}

void import_data(const YamlView& root, Job& job) {
  if (const auto inputs = root.find("inputs")) {
    for (const auto& [name, input] : inputs->members()) {
      if (!input.json().is_object()) continue;
      const std::string mode = text_in(input, "mode");
      // Inputs that are numbers or texts, not data, are left out.
      job.inputs.push_back({name, input.at("path").text(),
                            mode == "download" ? "download"
                            : mode == "direct" ? "stream"
                                               : "mount"});
    }
  }
  const auto outputs = root.find("outputs");
  if (!outputs) return;
  for (const auto& [name, output] : outputs->members()) {
    const std::string path = text_in(output, "path");
    if (path.empty()) continue;
    if (name == "checkpoints") {
      job.checkpoints = path;
    } else {
      job.outputs.push_back({name, path, text_in(output, "mode") == "upload" ? "upload" : "mount"});
    }
  }
}

void import_resources(const YamlView& root, Job& job) {
  if (const auto resources = root.find("resources")) {
    take_machine(job, kPlatform, "instance_type", text_in(*resources, "instance_type"));
    job.nodes = integer_in(*resources, "instance_count", 1);
  }
  const std::string cluster = text_in(root, "compute");
  if (!cluster.empty()) job.platforms[kPlatform]["compute"] = cluster;
  if (const auto distribution = root.find("distribution")) {
    job.launcher = text_in(*distribution, "type") == "mpi" ? Launcher::kMpi : Launcher::kTorch;
    job.processes_per_node = integer_in(*distribution, "process_count_per_instance", 1);
  }
  if (const auto limits = root.find("limits")) job.time_limit_s = integer_in(*limits, "timeout", 0);
  if (const auto queue = root.find("queue_settings"))
    job.spot = text_in(*queue, "job_tier") == "spot";
}

Job import_job(const YamlView& root) {
  Job job;
  job.name = text_in(root, "name");
  if (job.name.empty()) job.name = text_in(root, "display_name");
  if (job.name.empty()) job.name = "azureml-job";
  job.description = text_in(root, "description");
  const std::string experiment = text_in(root, "experiment_name");
  if (!experiment.empty()) job.platforms[kPlatform]["experiment"] = experiment;
  job.code = text_in(root, "code");
  const YamlView environment = root.at("environment");
  if (environment.json().is_object()) {
    job.image = text_in(environment, "image");
  } else {
    job.platforms[kPlatform]["environment"] = environment.text();
  }
  job.environment = pairs_in(root, "environment_variables");
  import_resources(root, job);
  import_data(root, job);
  job.tags = pairs_in(root, "tags");
  job.command = emptied(shell_words(root.at("command").text()), places_of(job));
  return job;
}

}  // namespace
}  // namespace azureml

const Format kAzureMl = {
    .id = "azureml",
    .title = "Azure Machine Learning",
    .options = azureml::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/azureml.yaml"; },
    .render = azureml::render,
    .check = azureml::check,
    .import = azureml::import_job,
    .recognize =
        [](const Json& root) {
          const Json* schema = root.find("$schema");
          if (schema != nullptr && schema->is_string() &&
              schema->as_string().find("commandJob") != std::string::npos) {
            return true;
          }
          const Json* command = root.find("command");
          return command != nullptr && command->is_string() &&
                 root.find("environment") != nullptr &&
                 (root.find("compute") != nullptr || root.find("resources") != nullptr ||
                  root.find("environment")->is_string() ||
                  root.find("environment")->find("image") != nullptr);
        },
};

}  // namespace trainyard::jobs
