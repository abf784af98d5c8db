// Google Vertex AI: CustomJob of the REST interface, and its specification for gcloud.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cluster/jobs/formats/common.h"

namespace trainyard::jobs {

extern const Format kVertex;

namespace vertex {
namespace {

constexpr std::string_view kPlatform = "vertex";
constexpr std::string_view kTitle = "Vertex AI";

// Vertex AI mounts every bucket that the service account may read under /gcs.
std::string vertex_path(const DataPlace& place) {
  const Uri uri = parse_uri(place.uri);
  if (uri.scheme != "gs") return place.uri;
  return uri.path.empty() ? "/gcs/" + uri.host : fmt::format("/gcs/{}/{}", uri.host, uri.path);
}

std::vector<PlacePath> vertex_places(const Job& job) {
  return known_places(job, kPlatform,
                      [](std::string_view, const DataPlace& place) { return vertex_path(place); });
}

// The name of an accelerator in machineSpec; empty for processors alone.
// Machines with accelerators of their own, then those that are attached, then TPUs, which the
// catalog lacks.
std::string accelerator_type(const Job& job, const Machine* machine) {
  if (machine != nullptr && machine->native != "attach") return machine->native;
  for (const Machine& attached : machines()) {
    if (attached.service == "vertex-attach" && attached.accelerator == job.accelerator) {
      return attached.name;
    }
  }
  if (job.accelerator == "tpu-v2") return "TPU_V2";
  if (job.accelerator == "tpu-v3") return "TPU_V3";
  if (job.accelerator == "tpu-v4") return "TPU_V4_POD";
  return job.accelerator == "tpu-v5e" ? "TPU_V5_LITEPOD" : "";
}

struct VertexMachine {
  std::string name;
  std::string accelerator;
};

// TPU machines are not in the catalog: the job names them.
VertexMachine machine_for(Draft& draft) {
  const Job& job = draft.job();
  if (job.accelerator.starts_with("tpu-")) {
    if (job.nodes > 1) {
      job.fail("nodes",
               fmt::format("{} wanted, but Vertex AI trains on TPUs with one replica", job.nodes));
    }
    const std::string name = job.option(kPlatform, "machine_type");
    if (name.empty())
      job.fail("machine.accelerator", "name the TPU machine at platforms.vertex.machine_type");
    return {name, accelerator_type(job, nullptr)};
  }
  const Machine& machine = choose_machine(job, kPlatform, kTitle, "machine_type");
  says_machine_size(draft, "jobSpec.workerPoolSpecs[0].machineSpec.machineType", machine);
  return {machine.name, accelerator_type(job, &machine)};
}

// Pool 0 is the primary replica, of which there is one; all others are pool 1.
void put_pool(Draft& draft, size_t index, int64_t replicas, const VertexMachine& machine,
              const std::vector<std::string>& words) {
  const Job& job = draft.job();
  const std::string pool = fmt::format("jobSpec.workerPoolSpecs[{}].", index);
  draft.set(pool + "machineSpec.machineType", machine.name);
  if (job.count > 0) {
    draft.put("machine.accelerator", pool + "machineSpec.acceleratorType", machine.accelerator);
    draft.put("machine.count", pool + "machineSpec.acceleratorCount", job.count);
  }
  draft.put("nodes", pool + "replicaCount", replicas);
  if (job.disk_gib > 0) {
    constexpr int64_t kLeast = 100;
    draft.set(pool + "diskSpec.bootDiskType", "pd-ssd");
    draft.put("machine.disk_gib", pool + "diskSpec.bootDiskSizeGb", std::max(kLeast, job.disk_gib));
    if (job.disk_gib < kLeast) draft.note("machine.disk_gib", "Vertex AI's disks begin at 100 GB");
  }
  draft.put("image", pool + "containerSpec.imageUri", needed_image(job, kVertex));
  draft.put("command", pool + "containerSpec.command",
            Json::array_of(std::vector<std::string>{words[0]}));
  if (words.size() > 1) {
    draft.put("command", pool + "containerSpec.args",
              Json::array_of(std::vector<std::string>(words.begin() + 1, words.end())));
  }
  if (!job.environment.empty()) {
    draft.put("environment", pool + "containerSpec.env",
              name_value_list(job.environment, "name", "value"));
  }
}

void put_pools(Draft& draft) {
  const Job& job = draft.job();
  const VertexMachine machine = machine_for(draft);
  std::vector<std::string> words = filled(job, job.command, vertex_places(job));
  if (job.nodes == 1) {
    words = launched_on_node(job, words);
    if (job.launcher != Launcher::kNone) {
      const std::string at = "jobSpec.workerPoolSpecs[0].containerSpec.command";
      draft.says("launcher", at, words[0]);
      if (job.processes_per_node > 1) {
        draft.says("processes_per_node", at, std::to_string(job.processes_per_node));
      }
    }
  } else if (job.launcher != Launcher::kNone) {
    draft.cannot("launcher",
                 "one container starts on each node; the command finds the others in CLUSTER_SPEC "
                 "and has to launch itself");
    if (job.processes_per_node > 1) {
      draft.cannot("processes_per_node", "one command starts on each node");
    }
  }
  put_pool(draft, 0, 1, machine, words);
  if (job.nodes > 1) put_pool(draft, 1, job.nodes - 1, machine, words);
}

void put_scheduling(Draft& draft) {
  const Job& job = draft.job();
  if (job.time_limit_s > 0) {
    draft.put("time_limit", "jobSpec.scheduling.timeout", fmt::format("{}s", job.time_limit_s));
  }
  if (job.spot) draft.put("spot", "jobSpec.scheduling.strategy", "SPOT");
  if (job.retries > 0) {
    draft.put("retries", "jobSpec.scheduling.restartJobOnWorkerRestart", true);
    draft.note("retries", "Vertex AI restarts, but takes no number of times");
  } else {
    draft.set("jobSpec.scheduling.disableRetries", true);
  }
}

void put_data(Draft& draft) {
  const Job& job = draft.job();
  bool any = false;
  for (DataPlace place : job.inputs) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!reachable(draft, "inputs", place, {"gs"}, kVertex)) continue;
    any = true;
    draft.says("inputs", "jobSpec.workerPoolSpecs[0].containerSpec.args", vertex_path(place));
  }
  if (any) {
    draft.note("inputs", "no field of their own: every bucket is seen under /gcs, as a mount");
  } else if (!job.inputs.empty()) {
    draft.cannot("inputs", "none of them is a gs:// place");
  }
  std::string output;
  for (DataPlace place : job.outputs) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!reachable(draft, "outputs", place, {"gs"}, kVertex)) continue;
    if (output.empty()) {
      output = place.uri;
      draft.put("outputs", "jobSpec.baseOutputDirectory.outputUriPrefix", output);
    } else {
      draft.says("outputs", "jobSpec.workerPoolSpecs[0].containerSpec.args", vertex_path(place));
    }
  }
  if (output.empty() && !job.outputs.empty())
    draft.cannot("outputs", "none of them is a gs:// place");
  if (job.checkpoints.empty()) return;
  const DataPlace place{"checkpoints", uri_for(job, kPlatform, "checkpoints", job.checkpoints)};
  if (reachable(draft, "checkpoints", place, {"gs"}, kVertex)) {
    draft.says("checkpoints", "jobSpec.workerPoolSpecs[0].containerSpec.args", vertex_path(place));
    draft.note("checkpoints", "no field of its own: the command writes under /gcs");
  } else {
    draft.cannot("checkpoints", "only gs:// places");
  }
}

void put_rest(Draft& draft) {
  const Job& job = draft.job();
  const std::string account = job.option(kPlatform, "service_account");
  if (!account.empty()) draft.set("jobSpec.serviceAccount", account);
  if (!job.tags.empty()) {
    const Pairs labels = tags_for(draft, {.extra = "_-", .lower_case = true}, kTitle);
    draft.put_pairs("tags", "labels", labels);
  }
  if (!job.description.empty()) draft.cannot("description", "the job has none; a label may say it");
  if (!job.code.empty())
    draft.cannot("code", "a local folder is not uploaded: build it into the image");
  if (!job.metrics.empty())
    draft.cannot("metrics", "logs are not searched; write TensorBoard files");
  if (!job.secrets.empty()) {
    draft.cannot("secrets", "no field: let the program read Secret Manager, with serviceAccount");
  }
  restarts_with_command(draft, kTitle);
}

void put_steps(Draft& draft) {
  const Job& job = draft.job();
  const std::string region = command_line({job.option(kPlatform, "region", "us-central1")});
  const std::string project = job.option(kPlatform, "project");
  const std::string in =
      "--region=" + region + (project.empty() ? "" : " --project=" + command_line({project}));
  draft.step("submit", fmt::format("gcloud ai custom-jobs create {} --display-name={} "
                                   "--config=vertex-gcloud.yaml",
                                   in, command_line({job.name})));
  draft.step(
      "submit over REST",
      fmt::format("curl -X POST -H \"Authorization: Bearer $(gcloud auth "
                  "print-access-token)\" -H 'Content-Type: application/json' -d @vertex.json "
                  "https://{0}-aiplatform.googleapis.com/v1/projects/{1}/locations/{0}/"
                  "customJobs",
                  region, command_line({project.empty() ? "PROJECT" : project})));
  draft.step("watch", fmt::format("gcloud ai custom-jobs describe JOB {}", in));
  draft.step("log", fmt::format("gcloud ai custom-jobs stream-logs JOB {}", in));
  draft.step("stop", fmt::format("gcloud ai custom-jobs cancel JOB {}", in));
}

void render(Draft& draft) {
  constexpr size_t kLongest = 128;
  const Job& job = draft.job();
  if (job.name.size() > kLongest) job.fail("name", "longer than Vertex AI's 128 characters");
  draft.put("name", "displayName", job.name);
  put_pools(draft);
  put_scheduling(draft);
  put_data(draft);
  put_rest(draft);
  // gcloud takes the specification alone, without the name around it.
  const Json spec = draft.root().at("jobSpec");
  draft.finish_file("vertex.json", Draft::Style::kJson);
  draft.root() = spec;
  draft.finish_file("vertex-gcloud.yaml", Draft::Style::kYaml);
  put_steps(draft);
}

// Of a REST file or one for gcloud.
YamlView spec_of(const YamlView& root) {
  const auto spec = root.find("jobSpec");
  return spec ? *spec : root;
}

bool is_accelerator(const std::string& name) {
  return std::any_of(machines().begin(), machines().end(), [&](const Machine& machine) {
    return (machine.service == kPlatform && machine.native == name) ||
           (machine.service == "vertex-attach" && machine.name == name);
  });
}

void check_accelerator(const YamlView& machine, Findings& findings) {
  const auto type = machine.find("machineType");
  const auto accelerator = machine.find("acceleratorType");
  const auto count = machine.find("acceleratorCount");
  if (accelerator && !count) findings.error(*accelerator, "acceleratorCount is missing beside it");
  if (count && !accelerator) findings.error(*count, "acceleratorType is missing beside it");
  if (!type || !type->json().is_string()) return;
  // TPU machines are not in the catalog, so nothing can be said about them.
  const bool tpu = accelerator && accelerator->text().starts_with("TPU_");
  if (tpu) return;
  check_machine_name(*type, kPlatform, findings);
  const Machine* known = find_machine(kPlatform, type->text());
  if (known == nullptr || !accelerator || !count || !count->json().is_int()) return;
  if (!is_accelerator(accelerator->text())) return;  // the schema says it
  if (known->native == "attach") {
    std::vector<std::string> counts;
    for (const Machine& attached : machines()) {
      if (attached.service != "vertex-attach" || attached.name != accelerator->text()) continue;
      if (attached.whole_count() == count->integer()) return;
      counts.push_back(std::to_string(attached.whole_count()));
    }
    findings.error(
        *count, counts.empty()
                    ? fmt::format("{} cannot be attached to {}", accelerator->text(), known->name)
                    : fmt::format("{} takes {} of {}, not {}", known->name, join(counts, ", "),
                                  accelerator->text(), count->integer()));
    return;
  }
  if (known->native != accelerator->text()) {
    findings.error(*accelerator,
                   fmt::format("{} has {}", known->name,
                               known->native.empty() ? "no accelerators" : known->native));
  } else if (known->whole_count() != count->integer()) {
    findings.error(*count, fmt::format("{} has {} accelerators, not {}", known->name,
                                       known->whole_count(), count->integer()));
  }
}

void check(const YamlView& root, Findings& findings) {
  const auto pools = spec_of(root).find("workerPoolSpecs");
  if (!pools || !pools->json().is_array()) return;
  bool tpu = false;
  int64_t replicas = 0;
  for (const YamlView& pool : pools->items()) {
    if (!pool.json().is_object()) continue;
    const auto count = pool.find("replicaCount");
    const int64_t number = count && count->json().is_int() ? count->integer() : 1;
    // `replicas` is 0 only at the first pool.
    if (replicas == 0 && number != 1) {
      findings.error(*count, "the first pool is the primary replica: it has one");
    }
    replicas += number;
    const auto machine = pool.find("machineSpec");
    if (!machine || !machine->json().is_object()) continue;
    check_accelerator(*machine, findings);
    tpu = tpu || text_in(*machine, "acceleratorType").starts_with("TPU_");
  }
  if (tpu && replicas > 1) findings.error(*pools, "TPUs train with one replica");
}

void import_pool(const YamlView& pool, Job& job) {
  const YamlView machine = pool.at("machineSpec");
  take_machine(job, kPlatform, "machine_type", text_in(machine, "machineType"));
  const std::string type = text_in(machine, "acceleratorType");
  for (const Machine& known : machines()) {
    const bool attached = known.service == "vertex-attach" && known.name == type;
    const bool own = known.service == kPlatform && known.native == type;
    if (!type.empty() && (attached || own)) job.accelerator = known.accelerator;
  }
  job.count = integer_in(machine, "acceleratorCount", job.count);
  if (const auto disk = pool.find("diskSpec"))
    job.disk_gib = integer_in(*disk, "bootDiskSizeGb", 0);
  const YamlView container = pool.at("containerSpec");
  job.image = text_in(container, "imageUri");
  job.command = texts_in(container, "command");
  for (std::string& word : texts_in(container, "args")) job.command.push_back(std::move(word));
  job.environment = named_values_in(container, "env", "name", "value");
}

Job import_job(const YamlView& root) {
  Job job;
  job.name = text_in(root, "displayName");
  if (job.name.empty()) job.name = "vertex-job";
  const YamlView spec = spec_of(root);
  const std::vector<YamlView> pools = spec.at("workerPoolSpecs").items();
  if (pools.empty()) spec.at("workerPoolSpecs").fail("expected a pool");
  import_pool(pools[0], job);
  if (pools.size() > 1 && pools[1].json().is_object()) {
    job.nodes += integer_in(pools[1], "replicaCount", 0);
  }
  if (job.nodes == 1) job.command = without_launcher(job.command, job);
  if (const auto scheduling = spec.find("scheduling")) {
    const std::string timeout = text_in(*scheduling, "timeout");
    if (!timeout.empty()) job.time_limit_s = parse_duration(timeout);
    job.spot = text_in(*scheduling, "strategy") == "SPOT";
    // Vertex AI does not say how often.
    if (scheduling->find("restartJobOnWorkerRestart")) job.retries = 1;
  }
  if (const auto output = spec.find("baseOutputDirectory")) {
    job.outputs.push_back({"model", output->at("outputUriPrefix").text()});
  }
  const std::string account = text_in(spec, "serviceAccount");
  if (!account.empty()) job.platforms[kPlatform]["service_account"] = account;
  job.tags = pairs_in(root, "labels");
  job.command = emptied(job.command, vertex_places(job));
  return job;
}

}  // namespace
}  // namespace vertex

const Format kVertex = {
    .id = "vertex",
    .title = "Google Vertex AI",
    .options = vertex::kPlatform,
    .schema = [](const Json& root) -> std::string_view {
      return root.find("workerPoolSpecs") == nullptr ? "schemas/vertex.yaml"
                                                     : "schemas/vertex-gcloud.yaml";
    },
    .render = vertex::render,
    .check = vertex::check,
    .import = vertex::import_job,
    .recognize =
        [](const Json& root) {
          return root.find("jobSpec") != nullptr || root.find("workerPoolSpecs") != nullptr;
        },
};

}  // namespace trainyard::jobs
