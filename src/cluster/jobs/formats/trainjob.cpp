// Kubernetes: TrainJob (trainer.kubeflow.org/v1alpha1) of Kubeflow Trainer 2.
#include <fmt/format.h>

#include "cluster/jobs/formats/kubernetes.h"

namespace trainyard::jobs {

extern const Format kTrainJob;

namespace trainjob {
namespace {

// Replicated jobs and pods get names of their own behind the job's.
constexpr size_t kTail = 20;

std::string runtime_of(Draft& draft) {
  const Job& job = draft.job();
  std::string named = job.option(kubernetes::kPlatform, "runtime");
  if (!named.empty()) return named;
  const char* guess = job.launcher == Launcher::kMpi ? "mpi-distributed" : "torch-distributed";
  draft.note("launcher",
             fmt::format("the cluster has to have the runtime '{}'; another one goes to "
                         "platforms.kubernetes.runtime",
                         guess));
  return guess;
}

void put_trainer(Draft& draft) {
  const Job& job = draft.job();
  const std::string trainer = "spec.trainer";
  draft.put("image", trainer + ".image", needed_image(job, kTrainJob));
  kubernetes::put_command(draft, trainer, filled(job, job.command, kubernetes::places_of(job)));
  kubernetes::put_variables(draft, trainer);
  draft.put("nodes", trainer + ".numNodes", job.nodes);
  if (job.processes_per_node > 1) {
    draft.put("processes_per_node", trainer + ".numProcPerNode", job.processes_per_node);
  }
  kubernetes::put_resources(draft, trainer + ".resourcesPerNode");
}

void put_missing(Draft& draft) {
  const Job& job = draft.job();
  const char* runtime = "volumes belong to the runtime, or to a patch of it";
  if (!job.inputs.empty()) draft.cannot("inputs", runtime);
  if (!job.outputs.empty()) draft.cannot("outputs", runtime);
  if (!job.checkpoints.empty()) draft.cannot("checkpoints", runtime);
  if (!job.accelerator.empty()) {
    draft.cannot("machine.accelerator",
                 "the kind of node belongs to the runtime, or to a patch of it");
  }
  if (job.retries > 0) draft.cannot("retries", "the runtime's jobs say it");
  kubernetes::put_missing(draft);
}

void render(Draft& draft) {
  const Job& job = draft.job();
  const std::string name =
      kubernetes::put_head(draft, "trainer.kubeflow.org/v1alpha1", "TrainJob", kTail);
  draft.put("launcher", "spec.runtimeRef.name", runtime_of(draft));
  draft.set("spec.runtimeRef.kind", "ClusterTrainingRuntime");
  put_trainer(draft);
  if (job.time_limit_s > 0) draft.put("time_limit", "spec.activeDeadlineSeconds", job.time_limit_s);
  put_missing(draft);
  draft.finish_file("k8s-trainjob.yaml", Draft::Style::kYaml);
  kubernetes::put_steps(draft, "k8s-trainjob.yaml", "trainjob", name);
}

void check(const YamlView& root, Findings& findings) {
  kubernetes::check_name(root, "", findings);
  const auto spec = root.find("spec");
  const auto trainer = spec ? spec->find("trainer") : std::nullopt;
  if (!trainer || !trainer->json().is_object()) return;
  const auto resources = trainer->find("resourcesPerNode");
  const auto limits = resources ? resources->find("limits") : std::nullopt;
  const auto gpus = limits ? limits->find("nvidia.com/gpu") : std::nullopt;
  const auto processes = trainer->find("numProcPerNode");
  if (!gpus || !processes || !gpus->json().is_int() || !processes->json().is_int()) return;
  if (processes->integer() > gpus->integer()) {
    findings.error(*processes, fmt::format("{} processes on {} GPUs of a node",
                                           processes->integer(), gpus->integer()));
  }
}

Job import_job(const YamlView& root) {
  Job job;
  kubernetes::import_head(root, job);
  const YamlView spec = root.at("spec");
  const std::string runtime = spec.at("runtimeRef").at("name").text();
  job.platforms[kubernetes::kPlatform]["runtime"] = runtime;
  job.time_limit_s = integer_in(spec, "activeDeadlineSeconds", 0);
  const YamlView trainer = spec.at("trainer");
  kubernetes::import_container(trainer, job);
  job.nodes = integer_in(trainer, "numNodes", 1);
  job.processes_per_node = integer_in(trainer, "numProcPerNode", 1);
  const bool mpi = runtime.find("torch") == std::string::npos;
  if (job.processes() > 1) job.launcher = mpi ? Launcher::kMpi : Launcher::kTorch;
  if (const auto resources = trainer.find("resourcesPerNode")) {
    kubernetes::import_resources(*resources, job);
  }
  if (job.count > 0) job.accelerator = kAnyAccelerator;
  return job;
}

}  // namespace
}  // namespace trainjob

const Format kTrainJob = {
    .id = "k8s-trainjob",
    .title = "Kubernetes TrainJob",
    .options = kubernetes::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/k8s-trainjob.yaml"; },
    .render = trainjob::render,
    .check = trainjob::check,
    .import = trainjob::import_job,
    .recognize = [](const Json& root) { return kubernetes::is_kind(root, "TrainJob"); },
};

}  // namespace trainyard::jobs
