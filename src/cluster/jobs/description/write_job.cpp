// job.yaml out.
#include "base/structured_text.h"
#include "cluster/jobs/description/job.h"

namespace trainyard::jobs {
namespace {

Json object_of(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& [name, value] : pairs) object[name] = value;
  return object;
}

Json object_of(const std::vector<DataPlace>& places) {
  Json object = Json::object();
  for (const DataPlace& place : places) {
    object[place.name] = Json::object({{"uri", place.uri}});
    if (!place.mode.empty()) object[place.name]["mode"] = place.mode;
  }
  return object;
}

Json machine_json(const Job& job) {
  Json machine = Json::object();
  if (!job.accelerator.empty()) {
    machine["accelerator"] = job.accelerator;
    machine["count"] = job.count;
  }
  if (job.cpus > 0) machine["cpus"] = job.cpus;
  if (job.memory_gib > 0) machine["memory_gib"] = job.memory_gib;
  if (job.disk_gib > 0) machine["disk_gib"] = job.disk_gib;
  return machine;
}

Json workload_json(const Workload& workload) {
  Json json = Json::object();
  if (!workload.model.empty()) json["model"] = workload.model;
  if (workload.batch > 0) json["batch"] = workload.batch;
  if (workload.epochs > 0) json["epochs"] = workload.epochs;
  if (workload.images > 0) json["images"] = workload.images;
  json["precision"] = workload.precision;
  return json;
}

}  // namespace

Json job_json(const Job& job) {
  Json json = Json::object({{"name", job.name}});
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) json[key] = value;
  };
  const auto list = [&](const char* key, Json value) {
    if (value.is_object() ? !value.members().empty() : !value.items().empty()) {
      json[key] = std::move(value);
    }
  };
  text("description", job.description);
  text("image", job.image);
  text("code", job.code);
  json["command"] = Json::array_of(job.command);
  list("resume", Json::array_of(job.resume));
  list("environment", object_of(job.environment));
  list("secrets", object_of(job.secrets));
  list("inputs", object_of(job.inputs));
  list("outputs", object_of(job.outputs));
  text("checkpoints", job.checkpoints);
  list("machine", machine_json(job));
  json["nodes"] = job.nodes;
  json["processes_per_node"] = job.processes_per_node;
  json["launcher"] = launcher_name(job.launcher);
  if (job.time_limit_s > 0) json["time_limit"] = duration_text(job.time_limit_s);
  json["spot"] = job.spot;
  json["retries"] = job.retries;
  list("tags", object_of(job.tags));
  list("metrics", object_of(job.metrics));
  if (job.workload) json["workload"] = workload_json(*job.workload);
  list("platforms", job.platforms);
  return json;
}

std::string job_yaml(const Job& job) {
  return text_of(yaml_lines(job_json(job)));
}

}  // namespace trainyard::jobs
