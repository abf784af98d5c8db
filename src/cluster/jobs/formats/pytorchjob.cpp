// Kubernetes: PyTorchJob (kubeflow.org/v1) of the training operator.
#include <fmt/format.h>

#include "cluster/jobs/formats/kubernetes.h"

namespace trainyard::jobs {

extern const Format kPyTorchJob;

namespace pytorchjob {
namespace {

// --no-python: the command names its own program.
std::vector<std::string> torchrun(const Job& job, const std::vector<std::string>& command) {
  if (job.launcher != Launcher::kTorch) return command;
  std::vector<std::string> words = {"torchrun", "--no-python"};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

// Master and workers are pods of the same kind; the operator counts the master as rank 0.
void put_role(Draft& draft, const char* role, int64_t replicas) {
  const Job& job = draft.job();
  const std::string path = fmt::format("spec.pytorchReplicaSpecs.{}", role);
  const std::string pod = path + ".template.spec";
  draft.put("nodes", path + ".replicas", replicas);
  draft.set(path + ".restartPolicy", job.retries > 0 ? "OnFailure" : "Never");
  kubernetes::put_container(draft, pod + ".containers[0]", "pytorch", kPyTorchJob);
  kubernetes::put_command(draft, pod + ".containers[0]",
                          torchrun(job, filled(job, job.command, kubernetes::places_of(job))));
  kubernetes::put_resources(draft, pod + ".containers[0].resources");
  kubernetes::put_volumes(draft, pod, kPyTorchJob);
  kubernetes::put_placement(draft, pod);
}

void put_launcher(Draft& draft) {
  const Job& job = draft.job();
  if (job.launcher == Launcher::kTorch) {
    draft.put("processes_per_node", "spec.nprocPerNode", std::to_string(job.processes_per_node));
    draft.says("launcher", "spec.pytorchReplicaSpecs.Master.template.spec.containers[0].command",
               "torchrun");
  } else if (job.launcher == Launcher::kMpi) {
    draft.cannot("launcher", "a PyTorchJob sets up torch.distributed; see k8s-mpijob");
    if (job.processes_per_node > 1) {
      draft.cannot("processes_per_node", "one command starts in each pod");
    }
  }
}

void render(Draft& draft) {
  const Job& job = draft.job();
  const std::string tail = fmt::format("-worker-{}", job.nodes);
  const std::string name =
      kubernetes::put_head(draft, "kubeflow.org/v1", "PyTorchJob", tail.size());
  put_launcher(draft);
  // Pods stay after the end, so that their logs can be read.
  draft.set("spec.runPolicy.cleanPodPolicy", "None");
  if (job.time_limit_s > 0) {
    draft.put("time_limit", "spec.runPolicy.activeDeadlineSeconds", job.time_limit_s);
  }
  if (job.retries > 0) draft.put("retries", "spec.runPolicy.backoffLimit", job.retries);
  put_role(draft, "Master", 1);
  if (job.nodes > 1) put_role(draft, "Worker", job.nodes - 1);
  kubernetes::put_missing(draft);
  draft.finish_file("k8s-pytorchjob.yaml", Draft::Style::kYaml);
  kubernetes::put_steps(draft, "k8s-pytorchjob.yaml", "pytorchjob", name);
}

// The operator looks for a container of this name and ignores others.
void check_role(const YamlView& role, Findings& findings) {
  const auto whole = role.find("template");
  const auto pod = whole ? whole->find("spec") : std::nullopt;
  const auto containers = pod ? pod->find("containers") : std::nullopt;
  if (!containers || !containers->json().is_array()) return;
  bool named = false;
  for (const YamlView& container : containers->items()) {
    named = named || text_in(container, "name") == "pytorch";
  }
  if (!named) findings.error(*containers, "no container is named 'pytorch'");
  kubernetes::check_pod(*pod, findings);
}

void check_processes(const YamlView& spec, const YamlView& master, Findings& findings) {
  const auto processes = spec.find("nprocPerNode");
  const auto whole = master.find("template");
  const auto pod = whole ? whole->find("spec") : std::nullopt;
  if (!processes || !processes->json().is_string() || !pod) return;
  // 0 for words such as "auto" and "gpu", which the operator resolves itself.
  const int64_t wanted = leading_count(processes->text(), 0);
  const int64_t gpus = kubernetes::gpus_of(*pod);
  if (gpus > 0 && wanted > gpus) {
    findings.error(*processes, fmt::format("{} processes on {} GPUs of a pod", wanted, gpus));
  }
}

void check(const YamlView& root, Findings& findings) {
  const auto spec = root.find("spec");
  const auto roles = spec ? spec->find("pytorchReplicaSpecs") : std::nullopt;
  if (!roles || !roles->json().is_object()) return;
  const auto worker = roles->find("Worker");
  kubernetes::check_name(
      root, fmt::format("-worker-{}", worker ? integer_in(*worker, "replicas", 1) : 1), findings);
  if (const auto master = roles->find("Master")) {
    const auto replicas = master->find("replicas");
    if (!replicas) {
      findings.error(*master, "'replicas' has to be written, as 1");
    } else if (replicas->json().is_int() && replicas->integer() != 1) {
      findings.error(*replicas, "there is one master");
    }
    check_role(*master, findings);
    check_processes(*spec, *master, findings);
  }
  if (worker) check_role(*worker, findings);
}

// Only what `render` writes is understood; other fields are left out without a word, as 'jobs
// check' is what judges files.
Job import_job(const YamlView& root) {
  Job job;
  kubernetes::import_head(root, job);
  const YamlView spec = root.at("spec");
  if (const auto policy = spec.find("runPolicy")) {
    job.time_limit_s = integer_in(*policy, "activeDeadlineSeconds", 0);
    job.retries = integer_in(*policy, "backoffLimit", 0);
  }
  const YamlView roles = spec.at("pytorchReplicaSpecs");
  const auto master = roles.find("Master");
  const auto worker = roles.find("Worker");
  if (!master && !worker) roles.fail("expected Master or Worker");
  job.nodes = (master ? 1 : 0) + (worker ? integer_in(*worker, "replicas", 1) : 0);
  const YamlView pod = kubernetes::pod_of(master ? *master : *worker);
  const YamlView container = kubernetes::first_container(pod);
  kubernetes::import_container(container, job);
  if (job.command.size() > 2 && job.command[0] == "torchrun" && job.command[1] == "--no-python") {
    job.command.erase(job.command.begin(), job.command.begin() + 2);
    job.launcher = Launcher::kTorch;
  }
  job.processes_per_node = count_in(spec, "nprocPerNode", 1);
  if (job.processes_per_node > 1) job.launcher = Launcher::kTorch;
  kubernetes::import_pod(pod, job);
  return job;
}

}  // namespace
}  // namespace pytorchjob

const Format kPyTorchJob = {
    .id = "k8s-pytorchjob",
    .title = "Kubernetes PyTorchJob",
    .options = kubernetes::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/k8s-pytorchjob.yaml"; },
    .render = pytorchjob::render,
    .check = pytorchjob::check,
    .import = pytorchjob::import_job,
    .recognize = [](const Json& root) { return kubernetes::is_kind(root, "PyTorchJob"); },
};

}  // namespace trainyard::jobs
