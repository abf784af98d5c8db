#include "cluster/jobs/formats/kubernetes.h"

#include <regex>

#include <fmt/format.h>

#include "base/text.h"
#include "cluster/jobs/description/secrets.h"

namespace trainyard::jobs::kubernetes {
namespace {

constexpr std::string_view kTitle = "Kubernetes";
constexpr const char* kGpu = "[\"nvidia.com/gpu\"]";
constexpr const char* kProduct = "nvidia.com/gpu.product";
constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
// Of Kubernetes' quantities, in GiB and in processors.
constexpr Unit kMemoryUnits[] = {
    {"", 1 / kGib},     {"k", 1e3 / kGib},  {"M", 1e6 / kGib},       {"G", 1e9 / kGib},
    {"T", 1e12 / kGib}, {"P", 1e15 / kGib}, {"Ki", 1024.0 / kGib},   {"Mi", 1.0 / 1024},
    {"Gi", 1},          {"Ti", 1024},       {"Pi", 1024.0 * 1024.0}, {"m", 1e-3 / kGib},
};
constexpr Unit kProcessorUnits[] = {{"", 1}, {"m", 1e-3}, {"k", 1e3}};

bool is_claim(const std::string& uri) {
  return parse_uri(uri).scheme == "pvc";
}

std::string mount_path(std::string_view kind, const DataPlace& place) {
  if (kind == "checkpoints") return "/mnt/checkpoints";
  return fmt::format("/mnt/{}/{}", kind, place.name);
}

std::vector<std::string> with(const std::vector<std::string>& words, const std::string& from,
                              const std::string& to) {
  std::vector<std::string> out = words;
  for (std::string& word : out) {
    for (size_t at = word.find(from); at != std::string::npos;
         at = word.find(from, at + to.size())) {
      word.replace(at, from.size(), to);
    }
  }
  return out;
}

// One claim, mounted; false if it is none.
bool put_claim(Draft& draft, const std::string& pod, std::string_view field, const DataPlace& place,
               const Format& format, size_t& index) {
  if (!reachable(draft, field, place, {"pvc"}, format)) return false;
  const Uri uri = parse_uri(place.uri);
  const std::string name =
      fixed_name(fmt::format("{}-{}", field, place.name), {.extra = "-", .lower_case = true});
  const bool read_only = field == "inputs";
  draft.set(fmt::format("{}.volumes[{}]", pod, index),
            Json::object({{"name", name},
                          {"persistentVolumeClaim", Json::object({{"claimName", uri.host}})}}));
  Json mount = Json::object({{"name", name}, {"mountPath", mount_path(field, place)}});
  if (!uri.path.empty()) mount["subPath"] = uri.path;
  if (read_only) mount["readOnly"] = true;
  draft.put(field, fmt::format("{}.containers[0].volumeMounts[{}]", pod, index), std::move(mount));
  ++index;
  return true;
}

}  // namespace

std::vector<PlacePath> places_of(const Job& job) {
  return known_places(job, kPlatform, [](std::string_view kind, const DataPlace& place) {
    return is_claim(place.uri) ? mount_path(kind, place) : place.uri;
  });
}

std::string put_head(Draft& draft, const char* api, const char* kind, size_t tail) {
  // A DNS label (RFC 1123); `tail` is what pods add to it.
  constexpr size_t kLongest = 63;
  const Job& job = draft.job();
  draft.set("apiVersion", api);
  draft.set("kind", kind);
  std::string name = name_for(
      draft, {.extra = "-", .longest = kLongest - tail, .lower_case = true, .letter_first = true},
      kTitle);
  draft.put("name", "metadata.name", name);
  const std::string space = job.option(kPlatform, "namespace");
  if (!space.empty()) draft.set("metadata.namespace", space);
  if (!job.tags.empty()) {
    draft.put_pairs("tags", "metadata.labels", tags_for(draft, {.extra = "-_."}, kTitle));
  }
  if (!job.description.empty()) {
    draft.put("description", "metadata.annotations.description", job.description);
  }
  return name;
}

// Kubernetes expands $(NAME) in commands and values; $$ keeps it as it is.
std::vector<std::string> escaped(const std::vector<std::string>& words) {
  return with(words, "$(", "$$(");
}

std::vector<std::string> unescaped(const std::vector<std::string>& words) {
  return with(words, "$$(", "$(");
}

void put_variables(Draft& draft, const std::string& path) {
  const Job& job = draft.job();
  size_t index = 0;
  for (const auto& [variable, value] : job.environment) {
    draft.put("environment", fmt::format("{}.env[{}]", path, index++),
              Json::object({{"name", variable}, {"value", escaped({value})[0]}}));
  }
  // "secret/key", or a secret whose key is called like the variable.
  for (const auto& [variable, reference] : job.secrets) {
    const size_t slash = reference.find('/');
    const std::string key = slash == std::string::npos ? variable : reference.substr(slash + 1);
    const Json secret = Json::object({{"name", reference.substr(0, slash)}, {"key", key}});
    draft.put("secrets", fmt::format("{}.env[{}]", path, index++),
              Json::object(
                  {{"name", variable}, {"valueFrom", Json::object({{"secretKeyRef", secret}})}}));
  }
}

void put_container(Draft& draft, const std::string& path, const char* name, const Format& format) {
  draft.set(path + ".name", name);
  draft.put("image", path + ".image", needed_image(draft.job(), format));
  put_variables(draft, path);
}

void put_command(Draft& draft, const std::string& container,
                 const std::vector<std::string>& words) {
  const std::vector<std::string> safe = escaped(words);
  draft.put("command", container + ".command", Json::array_of(std::vector<std::string>{safe[0]}));
  if (safe.size() > 1) {
    draft.put("command", container + ".args",
              Json::array_of(std::vector<std::string>(safe.begin() + 1, safe.end())));
  }
}

// GPUs are limits, as Kubernetes wants; processors and memory are requests, which others may
// borrow.
void put_resources(Draft& draft, const std::string& path) {
  const Job& job = draft.job();
  if (job.count > 0) draft.put("machine.count", path + ".limits" + kGpu, job.count);
  if (job.cpus > 0) draft.put("machine.cpus", path + ".requests.cpu", std::to_string(job.cpus));
  if (job.memory_gib > 0) {
    draft.put("machine.memory_gib", path + ".requests.memory", fmt::format("{}Gi", job.memory_gib));
  }
  if (job.disk_gib > 0) {
    draft.put("machine.disk_gib", path + ".requests.ephemeral-storage",
              fmt::format("{}Gi", job.disk_gib));
  }
}

// Several places may lie in one claim; each is a volume of its own, which Kubernetes allows.
void put_volumes(Draft& draft, const std::string& pod, const Format& format) {
  const Job& job = draft.job();
  size_t index = 0;
  const auto put = [&](std::string_view field, const std::vector<DataPlace>& places) {
    bool any = places.empty();
    for (DataPlace place : places) {
      place.uri = uri_for(job, kPlatform, place.name, place.uri);
      any = put_claim(draft, pod, field, place, format, index) || any;
    }
    if (!any) draft.cannot(field, "none of them lies in a claim (pvc://CLAIM/PATH)");
  };
  put("inputs", job.inputs);
  put("outputs", job.outputs);
  if (!job.checkpoints.empty()) put("checkpoints", {{"checkpoints", job.checkpoints}});
}

void put_placement(Draft& draft, const std::string& pod) {
  const Job& job = draft.job();
  const Json* options = job.platforms.find(kPlatform);
  const Json* selector = options == nullptr ? nullptr : options->find("node_selector");
  Json labels = selector == nullptr ? Json::object() : *selector;
  if (job.count > 0) {
    // What NVIDIA's feature discovery writes on nodes begins differently for each product; the
    // job's own word is a label that the cluster has to carry.
    const bool any = job.accelerator == kAnyAccelerator;
    if (!any && labels.find(kProduct) == nullptr && labels.find("accelerator") == nullptr) {
      labels["accelerator"] = job.accelerator;
      draft.note("machine.accelerator",
                 "chosen by the node label 'accelerator', which the cluster has to carry; another "
                 "one goes to platforms.kubernetes.node_selector");
    }
    draft.says("machine.accelerator", pod + ".nodeSelector", job.accelerator);
  }
  if (!labels.members().empty()) draft.set(pod + ".nodeSelector", labels);
  const std::string account = job.option(kPlatform, "service_account");
  if (!account.empty()) draft.set(pod + ".serviceAccountName", account);
}

// What a Pod has no field for, with the way around it where there is one.
void put_missing(Draft& draft) {
  const Job& job = draft.job();
  if (job.spot) {
    draft.cannot("spot",
                 "no field: choose spot nodes at platforms.kubernetes.node_selector, such as "
                 "cloud.google.com/gke-spot: \"true\" or eks.amazonaws.com/capacityType: SPOT");
  }
  if (!job.code.empty())
    draft.cannot("code", "a local folder is not uploaded: build it into the image");
  if (!job.metrics.empty()) draft.cannot("metrics", "logs are not searched");
  restarts_with_command(draft, kTitle);
}

void put_steps(Draft& draft, const std::string& file, const std::string& resource,
               const std::string& name) {
  const std::string space = draft.job().option(kPlatform, "namespace");
  const std::string in = space.empty() ? "" : " -n " + command_line({space});
  draft.step("submit", fmt::format("kubectl apply -f {}{}", file, in));
  draft.step("watch", fmt::format("kubectl get {} {}{} -w", resource, name, in));
  draft.step("log", fmt::format("kubectl logs -f -l {}={}{}",
                                resource == "trainjob" ? "jobset.sigs.k8s.io/jobset-name"
                                                       : "training.kubeflow.org/job-name",
                                name, in));
  draft.step("stop", fmt::format("kubectl delete {} {}{}", resource, name, in));
}

void import_head(const YamlView& root, Job& job) {
  const YamlView metadata = root.at("metadata");
  job.name = metadata.at("name").text();
  const std::string space = text_in(metadata, "namespace");
  if (!space.empty()) job.platforms[kPlatform]["namespace"] = space;
  job.tags = pairs_in(metadata, "labels");
  if (const auto notes = metadata.find("annotations"))
    job.description = text_in(*notes, "description");
}

void import_container(const YamlView& container, Job& job) {
  job.image = text_in(container, "image");
  if (const auto env = container.find("env")) {
    for (const YamlView& item : env->items()) {
      const std::string name = item.at("name").text();
      if (item.find("value")) {
        job.environment.emplace_back(name, unescaped({item.at("value").text()})[0]);
      } else if (const auto from = item.find("valueFrom"); from && from->find("secretKeyRef")) {
        const YamlView key = from->at("secretKeyRef");
        job.secrets.emplace_back(name, key.at("name").text() + "/" + key.at("key").text());
      }
    }
  }
  job.command = texts_in(container, "command");
  for (std::string& word : texts_in(container, "args")) job.command.push_back(std::move(word));
  job.command = unescaped(job.command);
}

void import_resources(const YamlView& resources, Job& job) {
  if (const auto limits = resources.find("limits")) {
    job.count = integer_in(*limits, "nvidia.com/gpu", 0);
  }
  const auto requests = resources.find("requests");
  if (!requests) return;
  job.cpus = quantity_of(text_in(*requests, "cpu"), kProcessorUnits);
  job.memory_gib = quantity_of(text_in(*requests, "memory"), kMemoryUnits);
  job.disk_gib = quantity_of(text_in(*requests, "ephemeral-storage"), kMemoryUnits);
}

namespace {

// By the paths that `render` uses; other mounts are not part of the job.
void import_volumes(const YamlView& pod, Job& job) {
  Pairs claims;
  if (const auto volumes = pod.find("volumes")) {
    for (const YamlView& volume : volumes->items()) {
      if (const auto claim = volume.find("persistentVolumeClaim")) {
        claims.emplace_back(volume.at("name").text(), claim->at("claimName").text());
      }
    }
  }
  const auto mounts = first_container(pod).find("volumeMounts");
  if (!mounts) return;
  for (const YamlView& mount : mounts->items()) {
    const std::string name = mount.at("name").text();
    const std::string path = mount.at("mountPath").text();
    for (const auto& [volume, claim] : claims) {
      if (volume != name) continue;
      const std::string sub = text_in(mount, "subPath");
      const std::string uri = "pvc://" + claim + (sub.empty() ? "" : "/" + sub);
      const std::string last = path.substr(path.rfind('/') + 1);
      if (path == "/mnt/checkpoints") {
        job.checkpoints = uri;
      } else if (path.starts_with("/mnt/outputs/")) {
        job.outputs.push_back({last, uri});
      } else if (path.starts_with("/mnt/inputs/")) {
        job.inputs.push_back({last, uri});
      }
    }
  }
}

void import_placement(const YamlView& pod, Job& job) {
  if (const auto selector = pod.find("nodeSelector")) {
    for (const auto& [key, value] : selector->members()) {
      if (key == "accelerator") {
        job.accelerator = value.text();
      } else {
        job.platforms[kPlatform]["node_selector"][key] = value.text();
      }
    }
  }
  const std::string account = text_in(pod, "serviceAccountName");
  if (!account.empty()) job.platforms[kPlatform]["service_account"] = account;
  if (job.count > 0 && job.accelerator.empty()) job.accelerator = kAnyAccelerator;
}

}  // namespace

// Last: places in the command can be recognized only once inputs and outputs are known.
void import_pod(const YamlView& pod, Job& job) {
  if (const auto resources = first_container(pod).find("resources")) {
    import_resources(*resources, job);
  }
  import_volumes(pod, job);
  import_placement(pod, job);
  job.command = emptied(job.command, places_of(job));
}

bool is_kind(const Json& root, std::string_view kind) {
  const Json* said = root.find("kind");
  return said != nullptr && said->is_string() && said->as_string() == kind;
}

YamlView pod_of(const YamlView& replica) {
  return replica.at("template").at("spec");
}

YamlView first_container(const YamlView& pod) {
  const std::vector<YamlView> containers = pod.at("containers").items();
  if (containers.empty()) pod.at("containers").fail("expected a container");
  return containers[0];
}

// Of the first container that has any.
int64_t gpus_of(const YamlView& pod) {
  const auto containers = pod.find("containers");
  if (!containers || !containers->json().is_array()) return 0;
  for (const YamlView& container : containers->items()) {
    const auto resources = container.find("resources");
    const auto limits = resources ? resources->find("limits") : std::nullopt;
    const auto gpus = limits ? limits->find("nvidia.com/gpu") : std::nullopt;
    if (gpus) return count_in(*limits, "nvidia.com/gpu", 0);
  }
  return 0;
}

void check_pod(const YamlView& pod, Findings& findings) {
  const auto containers = pod.find("containers");
  if (!containers || !containers->json().is_array()) return;
  for (const YamlView& container : containers->items()) {
    const auto env = container.find("env");
    if (!env || !env->json().is_array()) continue;
    for (const YamlView& item : env->items()) {
      const auto value = item.find("value");
      if (!value || !value->json().is_string() || !item.find("name")) continue;
      const std::string why = secret_suspicion(item.at("name").text(), value->text());
      if (!why.empty()) findings.warning(*value, "a secret in plain text? " + why);
    }
  }
}

// Pods are named after the job and a `tail` such as "-worker-0"; all of it has to be a DNS label.
void check_name(const YamlView& root, const std::string& tail, Findings& findings) {
  static const std::regex kLabel("[a-z]([-a-z0-9]*[a-z0-9])?");
  constexpr size_t kLongest = 63;
  const auto metadata = root.find("metadata");
  const auto name = metadata ? metadata->find("name") : std::nullopt;
  if (!name || !name->json().is_string()) return;
  const std::string whole = name->text() + tail;
  if (whole.size() > kLongest) {
    findings.error(*name, fmt::format("pods are called '{}': longer than 63 characters", whole));
  } else if (!std::regex_match(name->text(), kLabel)) {
    findings.error(
        *name,
        fmt::format("'{}' is no DNS label (lower-case letters, digits and '-', a letter first)",
                    name->text()));
  }
}

}  // namespace trainyard::jobs::kubernetes
