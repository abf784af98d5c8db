// Kubernetes: MPIJob (kubeflow.org/v2beta1) of the MPI operator.
#include <algorithm>

#include <fmt/format.h>

#include "cluster/jobs/formats/kubernetes.h"

namespace trainyard::jobs {

extern const Format kMpiJob;

namespace mpijob {
namespace {

constexpr const char* kLauncher = "spec.mpiReplicaSpecs.Launcher";
constexpr const char* kWorker = "spec.mpiReplicaSpecs.Worker";

// mpirun hands on the variables that it is told to.
std::vector<std::string> mpirun(const Job& job, const std::vector<std::string>& command) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(job.processes())};
  for (const Pairs* pairs : {&job.environment, &job.secrets}) {
    for (const auto& [name, value] : *pairs) words.insert(words.end(), {"-x", name});
  }
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Pods that run are removed at the end, those that ended stay for their logs.
void put_policy(Draft& draft) {
  const Job& job = draft.job();
  draft.set("spec.runPolicy.cleanPodPolicy", "Running");
  if (job.time_limit_s > 0) {
    draft.put("time_limit", "spec.runPolicy.activeDeadlineSeconds", job.time_limit_s);
  }
  if (job.retries > 0) draft.put("retries", "spec.runPolicy.backoffLimit", job.retries);
}

void render(Draft& draft) {
  const Job& job = draft.job();
  const std::string tail = fmt::format("-worker-{}", job.nodes - 1);
  const std::string name =
      kubernetes::put_head(draft, "kubeflow.org/v2beta1", "MPIJob", tail.size());
  draft.put("processes_per_node", "spec.slotsPerWorker", job.processes_per_node);
  put_policy(draft);
  draft.set("spec.mpiImplementation", "OpenMPI");
  const std::string launcher = fmt::format("{}.template.spec", kLauncher);
  draft.set(fmt::format("{}.replicas", kLauncher), 1);
  draft.set(fmt::format("{}.restartPolicy", kLauncher), job.retries > 0 ? "OnFailure" : "Never");
  kubernetes::put_container(draft, launcher + ".containers[0]", "launcher", kMpiJob);
  kubernetes::put_command(draft, launcher + ".containers[0]",
                          mpirun(job, filled(job, job.command, kubernetes::places_of(job))));
  draft.says("launcher", launcher + ".containers[0].command", "mpirun");
  if (job.launcher == Launcher::kTorch) {
    draft.note("launcher",
               "an MPIJob starts processes with mpirun, not torchrun; see k8s-pytorchjob");
  }
  // Workers compute, so resources and volumes are theirs; the launcher only starts them.
  const std::string worker = fmt::format("{}.template.spec", kWorker);
  draft.put("nodes", fmt::format("{}.replicas", kWorker), job.nodes);
  kubernetes::put_container(draft, worker + ".containers[0]", "worker", kMpiJob);
  kubernetes::put_resources(draft, worker + ".containers[0].resources");
  kubernetes::put_volumes(draft, worker, kMpiJob);
  kubernetes::put_placement(draft, worker);
  draft.note("image", "it needs mpirun and, for the workers, sshd");
  kubernetes::put_missing(draft);
  draft.finish_file("k8s-mpijob.yaml", Draft::Style::kYaml);
  kubernetes::put_steps(draft, "k8s-mpijob.yaml", "mpijob", name);
}

std::optional<YamlView> replica(const YamlView& root, std::string_view name) {
  const auto spec = root.find("spec");
  const auto replicas = spec ? spec->find("mpiReplicaSpecs") : std::nullopt;
  return replicas ? replicas->find(name) : std::nullopt;
}

std::optional<YamlView> pod_in(const std::optional<YamlView>& role) {
  const auto pod = role ? role->find("template") : std::nullopt;
  return pod ? pod->find("spec") : std::nullopt;
}

void check(const YamlView& root, Findings& findings) {
  const auto worker = replica(root, "Worker");
  const auto launcher = replica(root, "Launcher");
  const int64_t workers = worker ? integer_in(*worker, "replicas", 0) : 0;
  kubernetes::check_name(root, fmt::format("-worker-{}", std::max<int64_t>(workers, 1) - 1),
                         findings);
  if (worker && workers < 1)
    findings.error(*worker, "'replicas' is missing or 0: no worker starts");
  if (launcher && integer_in(*launcher, "replicas", 1) != 1) {
    findings.error(launcher->at("replicas"), "there is one launcher");
  }
  for (const auto& role : {worker, launcher}) {
    if (const auto pod = pod_in(role)) kubernetes::check_pod(*pod, findings);
  }
  const auto spec = root.find("spec");
  const auto slots = spec ? spec->find("slotsPerWorker") : std::nullopt;
  const auto pod = pod_in(worker);
  const int64_t gpus = pod ? kubernetes::gpus_of(*pod) : 0;
  if (slots && slots->json().is_int() && gpus > 0 && slots->integer() > gpus) {
    findings.warning(*slots,
                     fmt::format("{} processes share {} GPUs of a worker", slots->integer(), gpus));
  }
}

// Words behind an option of Open MPI's mpirun that belong to it: one but for those that are named.
size_t values_of_option(const std::string& option) {
  constexpr std::string_view kSwitches[] = {"allow-run-as-root",
                                            "bynode",
                                            "byslot",
                                            "display-allocation",
                                            "display-map",
                                            "nolocal",
                                            "nooversubscribe",
                                            "oversubscribe",
                                            "q",
                                            "quiet",
                                            "report-bindings",
                                            "tag-output",
                                            "timestamp-output",
                                            "use-hwthread-cpus",
                                            "v",
                                            "verbose"};
  if (option.find('=') != std::string::npos) return 0;
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  if (std::find(std::begin(kSwitches), std::end(kSwitches), name) != std::end(kSwitches)) return 0;
  return name == "mca" || name == "gmca" ? 2 : 1;
}

// mpirun and its options in front.
void strip_mpirun(Job& job) {
  std::vector<std::string>& words = job.command;
  if (words.empty() || words[0] != "mpirun") return;
  size_t at = 1;
  while (at < words.size() && words[at].starts_with('-')) at += 1 + values_of_option(words[at]);
  if (at >= words.size()) return;
  words.erase(words.begin(), words.begin() + static_cast<int64_t>(at));
}

Job import_job(const YamlView& root) {
  Job job;
  kubernetes::import_head(root, job);
  const YamlView spec = root.at("spec");
  job.launcher = Launcher::kMpi;
  job.processes_per_node = integer_in(spec, "slotsPerWorker", 1);
  if (const auto policy = spec.find("runPolicy")) {
    job.time_limit_s = integer_in(*policy, "activeDeadlineSeconds", 0);
    job.retries = integer_in(*policy, "backoffLimit", 0);
  }
  const YamlView roles = spec.at("mpiReplicaSpecs");
  kubernetes::import_container(
      kubernetes::first_container(kubernetes::pod_of(roles.at("Launcher"))), job);
  strip_mpirun(job);
  const YamlView worker = roles.at("Worker");
  job.nodes = integer_in(worker, "replicas", 1);
  const YamlView pod = kubernetes::pod_of(worker);
  kubernetes::import_pod(pod, job);
  return job;
}

}  // namespace
}  // namespace mpijob

const Format kMpiJob = {
    .id = "k8s-mpijob",
    .title = "Kubernetes MPIJob",
    .options = kubernetes::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/k8s-mpijob.yaml"; },
    .render = mpijob::render,
    .check = mpijob::check,
    .import = mpijob::import_job,
    .recognize = [](const Json& root) { return kubernetes::is_kind(root, "MPIJob"); },
};

}  // namespace trainyard::jobs
