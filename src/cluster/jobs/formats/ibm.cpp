// IBM watsonx.ai software (Watson Machine Learning, version 4): the definition of a model, the
// training, and the manifest of version 3 where the machine has a name there.
#include <fmt/format.h>

#include "base/shell.h"
#include "cluster/jobs/formats/common.h"
#include "cluster/jobs/formats/ibm_manifest.h"

namespace trainyard::jobs {

extern const Format kIbm;

namespace ibm {
namespace {

constexpr std::string_view kPlatform = "ibm";
constexpr std::string_view kTitle = "IBM watsonx.ai";
constexpr std::string_view kNobody = "00000000-0000-0000-0000-000000000000";
constexpr std::string_view kSoftware = "pytorch-onnx_rt24.1-py3.11";
const std::vector<std::string_view>& schemes() {
  static const std::vector<std::string_view> kSchemes = {"s3", "cos"};
  return kSchemes;
}

bool has_bucket(const std::string& uri) {
  const std::string scheme = parse_uri(uri).scheme;
  return scheme == "s3" || scheme == "cos";
}

std::vector<PlacePath> places_of(const Job& job) {
  return known_places(job, kPlatform, [](std::string_view kind, const DataPlace& place) {
    if (!has_bucket(place.uri)) return place.uri;
    if (kind == "inputs") return "${DATA_DIR}/" + place.name;
    return "${RESULT_DIR}/" + place.name;
  });
}

// In double quotes where a variable has to be seen, and as any shell word otherwise.
std::string quoted(const std::string& word) {
  size_t at = std::string::npos;
  std::string_view first;
  for (const std::string_view variable : {"${DATA_DIR}", "${RESULT_DIR}"}) {
    const size_t found = word.find(variable);
    if (found >= at) continue;
    at = found;
    first = variable;
  }
  if (first.empty()) return shell_word(word);
  const std::string before = word.substr(0, at);
  const std::string after = word.substr(at + first.size());
  return (before.empty() ? "" : shell_word(before)) + fmt::format("\"{}\"", first) +
         (after.empty() ? "" : quoted(after));
}

std::string command_of(Draft& draft) {
  const Job& job = draft.job();
  std::vector<std::string> words;
  if (!job.environment.empty()) {
    words.emplace_back("env");
    for (const auto& [name, value] : job.environment) {
      words.push_back(quoted(fmt::format("{}={}", name, value)));
    }
    draft.says("environment", "model_definition.command", "env …");
  }
  // The service has no limit of its own, so the program is ended by timeout(1).
  if (job.time_limit_s > 0) {
    words.insert(words.end(), {"timeout", std::to_string(job.time_limit_s)});
    draft.says("time_limit", "model_definition.command",
               fmt::format("timeout {}", job.time_limit_s));
  }
  const std::vector<std::string> command = filled(job, job.command, places_of(job));
  // Only on one node can the command start all processes itself.
  const bool launched = job.nodes == 1 && job.launcher != Launcher::kNone;
  for (const std::string& word : launched ? launched_on_node(job, command) : command) {
    words.push_back(quoted(word));
  }
  if (launched) {
    draft.says("launcher", "model_definition.command", std::string(launcher_name(job.launcher)));
    draft.says("processes_per_node", "model_definition.command",
               std::to_string(job.processes_per_node));
  } else if (job.launcher != Launcher::kNone) {
    draft.cannot("launcher", "the command starts on each node and has to launch itself");
    if (job.processes_per_node > 1)
      draft.cannot("processes_per_node", "one command starts on each node");
  }
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

// A named specification, a predefined one that fits, one with the same accelerators, or a guess.
std::string hardware_for(Draft& draft) {
  const Job& job = draft.job();
  std::string named = job.option(kPlatform, "hardware_spec");
  if (!named.empty()) return named;
  for (const Machine* machine : fitting_machines(job, "ibm-v4")) return machine->name;
  for (const Machine& machine : machines()) {
    const bool same = machine.service == "ibm-v4" && machine.accelerator == job.accelerator &&
                      machine.whole_count() == job.count && job.count > 0;
    if (same) return machine.name;
  }
  std::string name = fixed_name(job.accelerator.empty() ? "CPU" : job.accelerator, {.extra = "-"});
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (job.count > 1) name += fmt::format("x{}", job.count);
  draft.note("platforms.ibm.hardware_spec",
             fmt::format("the site defines its hardware specifications; '{}' is a guess", name));
  return name;
}

Json reference(const std::string& name, const std::string& text, const std::string& connection) {
  const Uri uri = parse_uri(text);
  return Json::object({{"name", name},
                       {"type", "connection_asset"},
                       {"connection", Json::object({{"id", connection}})},
                       {"location", Json::object({{"bucket", uri.host}, {"path", uri.path}})}});
}

void put_data(Draft& draft) {
  const Job& job = draft.job();
  // All places share one connection, which the space has to hold.
  const std::string connection = draft.required(kPlatform, "connection_id", kNobody);
  Json inputs = Json::array();
  for (DataPlace place : job.inputs) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (reachable(draft, "inputs", place, schemes(), kIbm)) {
      inputs.push_back(reference(place.name, place.uri, connection));
      if (!place.mode.empty()) draft.note("inputs." + place.name, "there are no modes");
    }
  }
  const bool none = inputs.items().empty();
  if (none && !job.inputs.empty())
    draft.cannot("inputs", "none of them is a bucket (s3:// or cos://)");
  if (none) {
    inputs.push_back(reference("data", "s3://REPLACE-ME/data", connection));
    draft.note("inputs", "a training wants data: a placeholder stands for it");
    draft.set("training_data_references", std::move(inputs));
  } else {
    draft.put("inputs", "training_data_references", std::move(inputs));
  }
  std::string output;
  for (DataPlace place : job.outputs) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!reachable(draft, "outputs", place, schemes(), kIbm)) continue;
    if (output.empty()) {
      output = place.uri;
      draft.put("outputs", "results_reference", reference(place.name, output, connection));
    } else {
      draft.note("outputs." + place.name, "there is one place for results: it is a folder there");
    }
  }
  if (output.empty()) {
    if (!job.outputs.empty()) draft.cannot("outputs", "none of them is a bucket (s3:// or cos://)");
    draft.note("outputs", "a training wants a place for results: a placeholder stands for it");
    draft.set("results_reference", reference("results", "s3://REPLACE-ME/results", connection));
  }
  if (!job.checkpoints.empty()) {
    draft.cannot("checkpoints",
                 "no place of their own: they lie in the results, ${RESULT_DIR}/checkpoints");
  }
}

void put_missing(Draft& draft) {
  const Job& job = draft.job();
  if (!job.image_for(kPlatform).empty() && !job.image.empty()) {
    draft.cannot("image", "no images: a software specification names the program's surroundings");
  }
  if (job.spot) draft.cannot("spot", "there is none");
  if (job.retries > 0) draft.cannot("retries", "there are none; start the training again");
  if (job.disk_gib > 0)
    draft.cannot("machine.disk_gib", "it comes with the hardware specification");
  if (!job.metrics.empty())
    draft.cannot("metrics", "logs are not searched; the program writes them");
  if (!job.secrets.empty()) draft.cannot("secrets", "no field: use a connection of the space");
  restarts_with_command(draft, kTitle);
}

// ID and $URL are known only to the user: the service answers the first request with them.
void put_steps(Draft& draft) {
  draft.step("pack the code",
             fmt::format("cd {} && zip -r ../code.zip .",
                         command_line({draft.job().code.empty() ? "." : draft.job().code})));
  draft.step(
      "define",
      "curl -X POST -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d "
      "@ibm-model-definition.json \"$URL/ml/v4/model_definitions?version=2024-05-01\"");
  draft.step(
      "upload the code",
      "curl -X PUT -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/zip' "
      "--data-binary @code.zip \"$URL/ml/v4/model_definitions/ID/model?version=2024-05-01\"");
  draft.step(
      "submit",
      "curl -X POST -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d "
      "@ibm-training.json \"$URL/ml/v4/trainings?version=2024-05-01\"");
  draft.step(
      "watch",
      "curl -H \"Authorization: Bearer $TOKEN\" \"$URL/ml/v4/trainings/ID?version=2024-05-01\"");
  draft.step("stop",
             "curl -X DELETE -H \"Authorization: Bearer $TOKEN\" "
             "\"$URL/ml/v4/trainings/ID?version=2024-05-01\"");
}

void put_owner(Draft& draft) {
  const std::string project = draft.job().option(kPlatform, "project_id");
  if (!project.empty()) {
    draft.set("project_id", project);
  } else {
    draft.set("space_id", draft.required(kPlatform, "space_id", kNobody));
  }
}

void put_tags(Draft& draft) {
  std::vector<std::string> tags;
  for (const auto& [key, value] : draft.job().tags)
    tags.push_back(fmt::format("{}:{}", key, value));
  if (!tags.empty()) draft.put("tags", "tags", Json::array_of(tags));
}

// The training first, since `draft` collects the fields of the job from it; the definition repeats
// name and command.
void render(Draft& draft) {
  const Job& job = draft.job();
  const std::string name = name_for(draft, {.extra = "-_. ", .longest = 128}, kTitle);
  const std::string command = command_of(draft);
  const std::string software = job.option(kPlatform, "software_spec", kSoftware);
  draft.put("name", "name", name);
  draft.put("description", "description", job.description.empty() ? name : job.description);
  put_owner(draft);
  draft.put("code", "model_definition.id",
            draft.required(kPlatform, "model_definition_id", kNobody));
  draft.put("command", "model_definition.command", command);
  const std::string hardware = hardware_for(draft);
  const std::string at = "model_definition.hardware_spec.name";
  draft.put("machine.accelerator", at, hardware);
  if (job.count > 0) draft.says("machine.count", at, hardware);
  if (job.cpus > 0) draft.says("machine.cpus", at, hardware);
  if (job.memory_gib > 0) draft.says("machine.memory_gib", at, hardware);
  draft.put("nodes", "model_definition.hardware_spec.nodes", job.nodes);
  draft.note("nodes", "as in IBM's notebooks; the types of its SDK call it num_nodes");
  draft.set("model_definition.software_spec.name", software);
  put_data(draft);
  put_tags(draft);
  put_missing(draft);
  draft.note(
      "platforms.ibm",
      "for watsonx.ai software (Cloud Pak for Data); IBM's public cloud takes no deep-learning "
      "trainings of one's own");
  draft.finish_file("ibm-training.json", Draft::Style::kJson);
  draft.set("name", name);
  draft.set("version", "1.0");
  draft.set("platform.name", "python");
  draft.set("platform.versions", Json::array_of(std::vector<std::string>{"3.11"}));
  put_owner(draft);
  draft.set("command", command);
  draft.set("software_spec.name", software);
  draft.finish_file("ibm-model-definition.json", Draft::Style::kJson);
  add_manifest(draft, name, command);
  put_steps(draft);
}

void check(const YamlView& root, Findings& findings) {
  if (is_manifest(root.json())) return check_manifest(root, findings);
  if (const auto definition = root.find("model_definition")) {
    const auto hardware = definition->find("hardware_spec");
    const auto name = hardware ? hardware->find("name") : std::nullopt;
    if (name && name->json().is_string() && find_machine("ibm-v4", name->text()) == nullptr) {
      findings.warning(*name,
                       "not one of IBM's predefined specifications; the site has to define it");
    }
  }
  for (const std::string_view key : {"training_data_references", "results_reference"}) {
    const auto found = root.find(key);
    if (!found) continue;
    const std::vector<YamlView> references =
        found->json().is_array() ? found->items() : std::vector<YamlView>{*found};
    for (const YamlView& one : references) {
      const auto connection = one.find("connection");
      if (connection && connection->json().is_object()) check_plain_secrets(*connection, findings);
    }
  }
}

// What stands in front of the command: env NAME=VALUE… timeout SECONDS.
void import_command(const std::string& line, Job& job) {
  std::vector<std::string> words = shell_words(line);
  size_t at = 0;
  if (at < words.size() && words[at] == "env") {
    for (++at; at < words.size() && words[at].find('=') != std::string::npos; ++at) {
      const size_t equals = words[at].find('=');
      job.environment.emplace_back(words[at].substr(0, equals), words[at].substr(equals + 1));
    }
  }
  if (at + 2 < words.size() && words[at] == "timeout") {
    job.time_limit_s = leading_count(words[at + 1], 0);
    at += 2;
  }
  job.command.assign(words.begin() + static_cast<int64_t>(at), words.end());
  if (job.nodes == 1) job.command = without_launcher(job.command, job);
}

std::string place_uri(const YamlView& reference) {
  const YamlView location = reference.at("location");
  return fmt::format("s3://{}/{}", text_in(location, "bucket"), text_in(location, "path"));
}

void import_places(const YamlView& root, Job& job) {
  if (const auto inputs = root.find("training_data_references")) {
    for (const YamlView& input : inputs->items()) {
      const std::string uri = place_uri(input);
      // Placeholders of `render` are no places.
      if (uri.find("REPLACE-ME") == std::string::npos)
        job.inputs.push_back({text_in(input, "name"), uri});
    }
  }
  const auto results = root.find("results_reference");
  if (!results) return;
  const std::string uri = place_uri(*results);
  if (uri.find("REPLACE-ME") == std::string::npos)
    job.outputs.push_back({text_in(*results, "name"), uri});
  if (const auto connection = results->find("connection")) {
    const std::string id = text_in(*connection, "id");
    if (!id.empty() && id != kNobody) job.platforms[kPlatform]["connection_id"] = id;
  }
}

Job import_job(const YamlView& root) {
  if (is_manifest(root.json())) return import_manifest(root);
  Job job;
  job.name = root.at("name").text();
  job.description = text_in(root, "description");
  Json& options = job.platforms[kPlatform];
  options = Json::object();
  for (const std::string_view key : {"space_id", "project_id"}) {
    const std::string id = text_in(root, key);
    if (!id.empty() && id != kNobody) options[key] = id;
  }
  const YamlView definition = root.at("model_definition");
  const std::string id = definition.at("id").text();
  if (id != kNobody) options["model_definition_id"] = id;
  if (const auto hardware = definition.find("hardware_spec")) {
    job.nodes = integer_in(*hardware, "nodes", integer_in(*hardware, "num_nodes", 1));
    options["hardware_spec"] = text_in(*hardware, "name");
    const Machine* machine = find_machine("ibm-v4", text_in(*hardware, "name"));
    if (machine != nullptr && machine->whole_count() > 0) {
      job.accelerator = machine->accelerator;
      job.count = machine->whole_count();
    }
  }
  if (const auto software = definition.find("software_spec")) {
    options["software_spec"] = text_in(*software, "name");
  }
  import_places(root, job);
  import_command(definition.at("command").text(), job);
  for (const std::string& tag : texts_in(root, "tags")) {
    const size_t colon = tag.find(':');
    job.tags.emplace_back(tag.substr(0, colon),
                          colon == std::string::npos ? "" : tag.substr(colon + 1));
  }
  job.command = emptied(job.command, places_of(job));
  return job;
}

}  // namespace
}  // namespace ibm

const Format kIbm = {
    .id = "ibm",
    .title = "IBM watsonx.ai",
    .options = ibm::kPlatform,
    .schema = [](const Json& root) -> std::string_view {
      if (ibm::is_manifest(root)) return "schemas/ibm-manifest.yaml";
      return root.find("platform") != nullptr ? "schemas/ibm-model-definition.yaml"
                                              : "schemas/ibm-training.yaml";
    },
    .render = ibm::render,
    .check = ibm::check,
    .import = ibm::import_job,
    .recognize =
        [](const Json& root) {
          return root.find("model_definition") != nullptr ||
                 root.find("training_data_references") != nullptr ||
                 (root.find("platform") != nullptr && root.find("software_spec") != nullptr);
        },
};

}  // namespace trainyard::jobs
