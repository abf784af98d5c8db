#include <algorithm>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cluster/jobs/examples.h"
#include "cluster/jobs/job_file.h"
#include "cluster/jobs/render.h"
#include "support/error_message.h"

namespace trainyard::jobs {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

bool any_has(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

// The example for a platform, changed; "line field: message" of each error.
std::vector<std::string> errors(const char* platform, const std::string& from,
                                const std::string& to) {
  const Rendering rendering = render(example(), find_format(platform));
  const std::string text = replaced(rendering.files[0].text(), from, to);
  std::vector<std::string> lines;
  for (const Finding& finding : check_job_file(parse_job_file(text, "f")).findings) {
    if (finding.severity == Severity::kWarning) continue;
    lines.push_back(fmt::format("{} {}: {}", finding.line, finding.field, finding.message));
  }
  return lines;
}

void expect_one(const std::vector<std::string>& found, const std::string& part) {
  ASSERT_EQ(found.size(), 1U) << fmt::format("{}",
                                             found.empty() ? "nothing" : found[0] + found.back());
  EXPECT_NE(found[0].find(part), std::string::npos) << found[0];
}

TEST(Check, SageMaker) {
  expect_one(errors("sagemaker", "ml.p3.8xlarge", "ml.p3.8xlarg"), "Did you mean ml.p3.8xlarge");
  expect_one(errors("sagemaker", "\"InputMode\": \"File\"", "\"InputMode\": \"Fil\""),
             "not one of Pipe, File, FastFile");
  expect_one(errors("sagemaker", "resnet18-cifar", "resnet18_cifar"),
             "2 TrainingJobName: 'resnet18_cifar' does not match");
  expect_one(errors("sagemaker", "\"MaxWaitTimeInSeconds\": 14400", "\"MaxWaitTimeInSeconds\": 1"),
             "less than MaxRuntimeInSeconds");
  expect_one(errors("sagemaker", "per_host\": \"4\"", "per_host\": \"8\""),
             "8 processes on a node of ml.p3.8xlarge with 4");
  const std::vector<std::string> role = errors("sagemaker", "\"RoleArn\"", "\"RoleArm\"");
  EXPECT_TRUE(any_has(role, "RoleArm: no such field. Did you mean RoleArn?"));
  EXPECT_TRUE(any_has(role, "1 : 'RoleArn' is missing"));
}

TEST(Check, Vertex) {
  expect_one(errors("vertex", "NVIDIA_TESLA_V100", "NVIDIA_TESLA_V10"),
             "Did you mean NVIDIA_TESLA_V100");
  expect_one(errors("vertex", "\"acceleratorCount\": 4", "\"acceleratorCount\": 3"),
             "takes 1, 2, 4, 8 of NVIDIA_TESLA_V100, not 3");
  expect_one(errors("vertex", "\"replicaCount\": 1", "\"replicaCount\": 2"),
             "the first pool is the primary replica");
  expect_one(errors("vertex", "7200s", "2h"), "seconds, as 7200s");
  expect_one(errors("vertex", "n1-standard-8", "n1-standart-8"), "Did you mean n1-standard-8");
}

TEST(Check, AzureMl) {
  expect_one(errors("azureml", "Standard_NC24s_v3", "Standard_NC24s_v33"),
             "Did you mean Standard_NC24s_v3");
  expect_one(errors("azureml", "process_count_per_instance: 4", "process_count_per_instance: 8"),
             "8 processes on Standard_NC24s_v3, which has 4 accelerators");
  expect_one(errors("azureml", "timeout: 7200", "timeout: PT2H"), "expected integer");
  expect_one(errors("azureml", "type: mpi", "type: horovod"),
             "'horovod' is not one of pytorch, mpi");
}

TEST(Check, Kubernetes) {
  expect_one(errors("k8s-mpijob", "replicas: 1", "replicas: 2"), "there is one launcher");
  expect_one(errors("k8s-mpijob", "restartPolicy: OnFailure", "restartPolicy: Sometimes"),
             "not one of Never, OnFailure");
  expect_one(errors("k8s-pytorchjob", "name: pytorch", "name: torch"),
             "no container is named 'pytorch'");
  expect_one(errors("k8s-trainjob", "numProcPerNode: 4", "numProcPerNode: 8"),
             "8 processes on 4 GPUs");
  expect_one(errors("k8s-mpijob", "name: resnet18-cifar", "name: Resnet"), "no DNS label");
}

TEST(Check, SlurmAndSkyPilot) {
  expect_one(errors("slurm", "--ntasks-per-node=4", "--ntasks-per-nod=4"),
             "Did you mean --ntasks-per-node");
  expect_one(errors("slurm", "--time=0-02:00:00", "--time=2hours"), "D-HH:MM:SS");
  expect_one(errors("slurm", "start=(", "echo\n#SBATCH --nodes=4\nstart=("),
             "behind the first command");
  expect_one(errors("skypilot", "\"V100:4\"", "\"V10:4\""),
             "accelerator 'V10' is not known. Did you mean ");
  expect_one(errors("skypilot", "\"V100:4\"", "\"V100:3\""), "no machine has 3 V100");
  expect_one(errors("skypilot", "use_spot", "use_spott"), "Did you mean use_spot");
}

TEST(Check, Ibm) {
  expect_one(errors("ibm", "connection_asset", "connection"), "not one of s3, fs");
  EXPECT_TRUE(
      any_has(errors("ibm", "\"space_id\"", "\"space\""), "exactly one of space_id, project_id"));
}

TEST(Check, EscapesOfJson) {
  const JobFile file = parse_job_file(
      "{\"TrainingJobName\": \"a\", \"Tags\": [{\"Key\": \"k\", \"Value\": "
      "\"\\ud83d\\ude00 \\\\ud83d\\\\ude00\"}]}",
      "f.json");
  EXPECT_EQ(file.document->json().at("Tags").items()[0].at("Value").as_string(),
            "\xf0\x9f\x98\x80 \\ud83d\\ude00");
}

TEST(Check, FilesThatAreNoJobs) {
  EXPECT_NE(
      message_of([] { parse_job_file("a: 1\n", "f.yaml"); }).find("f.yaml: no job of any kind"),
      std::string::npos);
  EXPECT_NE(
      message_of([] { parse_job_file("[1, 2]", "f.json"); }).find("f.json:1: expected the fields"),
      std::string::npos);
  EXPECT_NE(message_of([] { parse_job_file("{\"a\": ", "f.json"); }).find("f.json:1"),
            std::string::npos);
  EXPECT_NE(
      message_of([] { parse_job_file("name: a", "f", "sagemakr"); }).find("Did you mean sagemaker"),
      std::string::npos);
}

TEST(Check, SecretsAndPlaceholdersAreWarnings) {
  const std::string text =
      render(job_of("name: a\nimage: i\ncommand: x\nenvironment: {TOKEN: abc}\n"),
             find_format("sagemaker"))
          .files[0]
          .text();
  const CheckResult result = check_job_file(parse_job_file(text, "f"));
  EXPECT_TRUE(result.ok());
  EXPECT_EQ(result.findings.size(), 3U);  // role, output, token
}

// An MPIJob of another, on two workers; the command's words without blanks.
Job mpi_job(const std::string& requests, const std::string& command) {
  const auto container = [](const std::string& more) {
    return "        spec:\n          containers:\n            - name: c\n              image: i\n" +
           more;
  };
  return import_job_file(parse_job_file(
      "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata:\n  name: a\nspec:\n"
      "  mpiReplicaSpecs:\n    Launcher:\n      template:\n" +
          container("              command: ['" + join(split(command, ' '), "', '") + "']\n") +
          "    Worker:\n      replicas: 2\n      template:\n" +
          container("              resources:\n                requests: {" + requests + "}\n"),
      "job.yaml"));
}

TEST(Import, QuantitiesOfKubernetesHaveUnits) {
  constexpr std::pair<const char*, int64_t> kMemory[] = {
      {"512Mi", 1}, {"2048Mi", 2}, {"1.5Gi", 2},        {"8Gi", 8},
      {"4G", 4},    {"2Ti", 2048}, {"'8589934592'", 8}, {"lots", 0}};
  for (const auto& [text, gib] : kMemory) {
    EXPECT_EQ(mpi_job(std::string("memory: ") + text, "x").memory_gib, gib) << text;
    EXPECT_EQ(mpi_job(std::string("ephemeral-storage: ") + text, "x").disk_gib, gib) << text;
  }
  constexpr std::pair<const char*, int64_t> kProcessors[] = {
      {"500m", 1}, {"2500m", 3}, {"4", 4}, {"0.5", 1}};
  for (const auto& [text, cpus] : kProcessors) {
    EXPECT_EQ(mpi_job(std::string("cpu: ") + text, "x").cpus, cpus) << text;
  }
}

TEST(Import, OptionsOfMpirunAreNotTheProgram) {
  const std::vector<std::string> program = {"prog", "-x", "1"};
  for (const char* options :
       {"--allow-run-as-root", "-np 4 --allow-run-as-root", "-x A --bind-to none",
        "--mca btl self --oversubscribe", "--map-by=slot -H a:2", "-n 2"}) {
    const std::string command = std::string("mpirun ") + options + " prog -x 1";
    EXPECT_EQ(mpi_job("cpu: 1", command).command, program) << command;
  }
  EXPECT_EQ(mpi_job("cpu: 1", "mpirun prog").command, std::vector<std::string>{"prog"});
}

TEST(Import, MemoryOfSlurmIsMegabytes) {
  constexpr std::pair<const char*, int64_t> kMemory[] = {
      {"4096", 4}, {"500M", 1}, {"8G", 8}, {"16g", 16}, {"1T", 1024}};
  for (const auto& [text, gib] : kMemory) {
    const Job job = import_job_file(parse_job_file(
        std::string("#!/bin/bash\n#SBATCH --mem=") + text + " --tmp=" + text + "\nsrun x\n",
        "job.sbatch"));
    EXPECT_EQ(job.memory_gib, gib) << text;
    EXPECT_EQ(job.disk_gib, gib) << text;
  }
}

TEST(Import, NumbersBeyondReasonAreRefused) {
  const auto script = [](const std::string& option) {
    return parse_job_file("#!/bin/bash\n#SBATCH " + option + "\nsrun x\n", "job.sbatch");
  };
  // 2^63 - 1 days are not "no limit".
  for (const char* option :
       {"--time=9223372036854775807-00:00:00", "--time=99999999999999999999", "--time=0-9999999999",
        "--nodes=18446744073709551617", "--ntasks-per-node=9999999999"}) {
    const std::string problem = message_of([&] { import_job_file(script(option)); });
    EXPECT_NE(problem.find("job.sbatch:2: field '--"), std::string::npos) << problem;
    EXPECT_NE(problem.find("at most 999,999,999"), std::string::npos) << problem;
  }
  const CheckResult result = check_job_file(script("--time=9223372036854775807-00:00:00"));
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(import_job_file(script("--time=UNLIMITED")).time_limit_s, 0);
  EXPECT_EQ(import_job_file(script("--time=2-03:04:05")).time_limit_s, 183845);
  EXPECT_EQ(import_job_file(script("--time=90:30")).time_limit_s, 5430);
}

TEST(Import, ScriptOfAnother) {
  const Job job = import_job_file(
      parse_job_file("#!/bin/bash\n#SBATCH -N 2 --ntasks-per-node=3 -t 1:30:00 -p gpu # a "
                     "comment\n#SBATCH --gres=gpu:2\n"
                     "export A='b c'\nsrun --mpi=pmix -n 6 trainyard train --model lenet5\n",
                     "job.sbatch"));
  EXPECT_EQ(job.nodes, 2);
  EXPECT_EQ(job.processes_per_node, 3);
  EXPECT_EQ(job.time_limit_s, 5400);
  EXPECT_EQ(job.accelerator, kAnyAccelerator);
  EXPECT_EQ(job.launcher, Launcher::kMpi);
  EXPECT_EQ(job.environment, (Pairs{{"A", "b c"}}));
  EXPECT_EQ(job.command, (std::vector<std::string>{"trainyard", "train", "--model", "lenet5"}));
  EXPECT_EQ(job.option("slurm", "partition"), "gpu");
}

}  // namespace
}  // namespace trainyard::jobs
