// Amazon SageMaker: the request of CreateTrainingJob.
#include <fmt/format.h>

#include "cluster/jobs/formats/common.h"

namespace trainyard::jobs {

extern const Format kSageMaker;

namespace sagemaker {
namespace {

constexpr std::string_view kPlatform = "sagemaker";
constexpr std::string_view kTitle = "SageMaker";
// Placeholders of the right form, so that the file passes checks until somebody fills them in.
constexpr std::string_view kRole = "arn:aws:iam::000000000000:role/REPLACE-ME";
constexpr std::string_view kNowhere = "s3://REPLACE-ME/output";
constexpr int64_t kDay = 86400;

// Where SageMaker puts channels and collects results in the container; these paths are fixed.
std::string sagemaker_path(const Job& job, std::string_view kind, const DataPlace& place) {
  if (kind == "inputs") return "/opt/ml/input/data/" + place.name;
  if (kind == "checkpoints") return "/opt/ml/checkpoints";
  // The first output is the model; all go to the one place for results.
  return place.name == job.outputs.front().name ? "/opt/ml/model"
                                                : "/opt/ml/output/data/" + place.name;
}

std::vector<PlacePath> sagemaker_places(const Job& job) {
  return known_places(job, kPlatform, [&](std::string_view kind, const DataPlace& place) {
    const bool s3 = parse_uri(place.uri).scheme == "s3";
    return s3 || kind == "outputs" ? sagemaker_path(job, kind, place) : place.uri;
  });
}

void put_algorithm(Draft& draft) {
  const Job& job = draft.job();
  draft.put("image", "AlgorithmSpecification.TrainingImage", needed_image(job, kSageMaker));
  draft.set("AlgorithmSpecification.TrainingInputMode", "File");
  const std::vector<std::string> words = filled(job, job.command, sagemaker_places(job));
  draft.put("command", "AlgorithmSpecification.ContainerEntrypoint",
            Json::array_of(std::vector<std::string>{words[0]}));
  if (words.size() > 1) {
    draft.put("command", "AlgorithmSpecification.ContainerArguments",
              Json::array_of(std::vector<std::string>(words.begin() + 1, words.end())));
  }
  if (!job.metrics.empty()) {
    draft.put("metrics", "AlgorithmSpecification.MetricDefinitions",
              name_value_list(job.metrics, "Name", "Regex"));
  }
}

void put_launcher(Draft& draft) {
  const Job& job = draft.job();
  const std::string code = job.option(kPlatform, "code_uri");
  if (!code.empty()) {
    // Values are JSON texts themselves.
    draft.put("code", "HyperParameters.sagemaker_submit_directory", Json(code).dump(-1));
  } else if (!job.code.empty()) {
    draft.cannot("code",
                 "a local folder is not uploaded: build it into the image, or upload it as a "
                 "tar.gz and name it at platforms.sagemaker.code_uri");
  }
  if (job.launcher == Launcher::kNone) return;
  const bool mpi = job.launcher == Launcher::kMpi;
  draft.put("launcher",
            mpi ? "HyperParameters.sagemaker_mpi_enabled"
                : "HyperParameters.sagemaker_torch_distributed_enabled",
            "true");
  draft.note("launcher",
             "read by AWS's own images (sagemaker-training); another image starts the command once "
             "on every node and has to launch the processes itself, from "
             "/opt/ml/input/config/resourceconfig.json");
  if (mpi) {
    draft.put("processes_per_node", "HyperParameters.sagemaker_mpi_num_of_processes_per_host",
              std::to_string(job.processes_per_node));
  } else if (job.processes_per_node > 1) {
    draft.cannot("processes_per_node", "torchrun is given as many processes as there are GPUs");
  }
}

void put_data(Draft& draft) {
  const Job& job = draft.job();
  Json channels = Json::array();
  for (DataPlace place : job.inputs) {
    place.uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!reachable(draft, "inputs", place, {"s3"}, kSageMaker)) continue;
    const char* mode = place.mode == "mount"    ? "FastFile"
                       : place.mode == "stream" ? "Pipe"
                                                : "File";
    // FullyReplicated: every node sees all of the data, as on other platforms.
    channels.push_back(Json::object(
        {{"ChannelName", place.name},
         {"DataSource", Json::object({{"S3DataSource", Json::object({{"S3DataType", "S3Prefix"},
                                                                     {"S3Uri", place.uri},
                                                                     {"S3DataDistributionType",
                                                                      "FullyReplicated"}})}})},
         {"InputMode", mode}}));
  }
  if (!channels.items().empty()) {
    draft.put("inputs", "InputDataConfig", std::move(channels));
  } else if (!job.inputs.empty()) {
    draft.cannot("inputs", "none of them is an s3:// place");
  }
  std::string output;
  for (const DataPlace& place : job.outputs) {
    const std::string uri = uri_for(job, kPlatform, place.name, place.uri);
    if (!reachable(draft, "outputs", {place.name, uri}, {"s3"}, kSageMaker)) continue;
    if (output.empty()) {
      output = uri;
    } else if (uri != output) {
      draft.note("outputs." + place.name,
                 fmt::format("SageMaker has one place for results: it goes to {}", output));
    }
  }
  if (output.empty()) {
    draft.note("outputs",
               fmt::format("SageMaker wants a place for results: {} stands for it", kNowhere));
  }
  draft.put("outputs", "OutputDataConfig.S3OutputPath", output.empty() ? kNowhere : output);
}

void put_stop(Draft& draft) {
  const Job& job = draft.job();
  const int64_t limit = job.time_limit_s > 0 ? job.time_limit_s : kDay;
  if (job.time_limit_s == 0) draft.note("time_limit", "SageMaker wants one: a day is written");
  draft.put("time_limit", "StoppingCondition.MaxRuntimeInSeconds", limit);
  // MaxWaitTimeInSeconds includes the run itself, so it is not below MaxRuntimeInSeconds.
  if (job.spot) {
    draft.set("StoppingCondition.MaxWaitTimeInSeconds",
              job.number_option(kPlatform, "max_wait", 2 * limit));
    draft.put("spot", "EnableManagedSpotTraining", true);
    if (job.checkpoints.empty()) {
      job.fail("spot", "SageMaker's spot training needs a place for checkpoints");
    }
  }
  if (!job.checkpoints.empty()) {
    const DataPlace place{"checkpoints", uri_for(job, kPlatform, "checkpoints", job.checkpoints)};
    if (reachable(draft, "checkpoints", place, {"s3"}, kSageMaker)) {
      draft.put("checkpoints", "CheckpointConfig.S3Uri", place.uri);
    } else {
      draft.cannot("checkpoints", "only s3:// places");
    }
  }
  if (job.retries > 0) draft.put("retries", "RetryStrategy.MaximumRetryAttempts", job.retries);
}

void put_steps(Draft& draft, const std::string& name) {
  const std::string region = draft.job().option(kPlatform, "region");
  const std::string in = region.empty() ? "" : " --region " + command_line({region});
  draft.step("submit",
             "aws sagemaker create-training-job --cli-input-json file://sagemaker.json" + in);
  draft.step("watch",
             fmt::format("aws sagemaker describe-training-job --training-job-name {}{}", name, in));
  draft.step("log",
             fmt::format("aws logs tail /aws/sagemaker/TrainingJobs --log-stream-name-prefix "
                         "{} --follow{}",
                         name, in));
  draft.step("stop",
             fmt::format("aws sagemaker stop-training-job --training-job-name {}{}", name, in));
}

void render(Draft& draft) {
  const Job& job = draft.job();
  const Machine& machine = choose_machine(job, kPlatform, kTitle, "instance_type");
  const std::string name = name_for(draft, {.extra = "-"}, kTitle);
  draft.put("name", "TrainingJobName", name);
  put_algorithm(draft);
  draft.set("RoleArn", draft.required(kPlatform, "role", kRole));
  put_launcher(draft);
  draft.put_pairs("environment", "Environment", job.environment);
  put_data(draft);
  draft.put("machine.accelerator", "ResourceConfig.InstanceType", machine.name);
  draft.says("machine.count", "ResourceConfig.InstanceType",
             fmt::format("{} ({:g})", machine.name, machine.count.value_or(0)));
  says_machine_size(draft, "ResourceConfig.InstanceType", machine);
  draft.put("nodes", "ResourceConfig.InstanceCount", job.nodes);
  constexpr int64_t kDefaultDisk = 30;
  draft.put("machine.disk_gib", "ResourceConfig.VolumeSizeInGB",
            job.disk_gib > 0 ? job.disk_gib : kDefaultDisk);
  put_stop(draft);
  if (!job.tags.empty()) draft.put("tags", "Tags", name_value_list(job.tags, "Key", "Value"));
  if (!job.description.empty())
    draft.cannot("description", "the request has none; a tag may say it");
  if (!job.secrets.empty()) {
    draft.cannot("secrets",
                 "the request has none: let the program read AWS Secrets Manager, and allow it to "
                 "RoleArn (secretsmanager:GetSecretValue)");
  }
  restarts_with_command(draft, kTitle);
  draft.finish_file("sagemaker.json", Draft::Style::kJson);
  put_steps(draft, name);
}

// Rules between fields, which a schema cannot say.
void check_spot(const YamlView& root, Findings& findings) {
  const auto stop = root.find("StoppingCondition");
  const auto spot = root.find("EnableManagedSpotTraining");
  const auto wait = stop ? stop->find("MaxWaitTimeInSeconds") : std::nullopt;
  const auto limit = stop ? stop->find("MaxRuntimeInSeconds") : std::nullopt;
  constexpr int64_t kMostDays = 28;
  if (limit && limit->json().is_int() && limit->integer() > kMostDays * kDay) {
    findings.error(*limit, "more than 28 days");
  }
  const bool on = spot && spot->json().is_bool() && spot->boolean();
  if (!on && wait)
    findings.error(*wait, "only for spot training (EnableManagedSpotTraining: true)");
  if (!on) return;
  if (!wait) findings.error(*spot, "spot training needs StoppingCondition.MaxWaitTimeInSeconds");
  if (wait && limit && wait->json().is_int() && limit->json().is_int() &&
      wait->integer() < limit->integer()) {
    findings.error(*wait, fmt::format("less than MaxRuntimeInSeconds ({})", limit->integer()));
  }
  if (!root.find("CheckpointConfig")) {
    findings.warning(*spot, "spot training without CheckpointConfig begins anew each time");
  }
}

void check(const YamlView& root, Findings& findings) {
  check_spot(root, findings);
  if (const auto environment = root.find("Environment"))
    check_plain_secrets(*environment, findings);
  const auto resources = root.find("ResourceConfig");
  const auto type = resources ? resources->find("InstanceType") : std::nullopt;
  if (!type || !type->json().is_string()) return;
  check_machine_name(*type, kPlatform, findings);
  const Machine* machine = find_machine(kPlatform, type->text());
  const auto hyper = root.find("HyperParameters");
  const auto processes =
      hyper ? hyper->find("sagemaker_mpi_num_of_processes_per_host") : std::nullopt;
  if (machine == nullptr || !processes || !processes->json().is_string()) return;
  const int64_t wanted = leading_count(processes->text(), 0);
  if (machine->whole_count() > 0 && wanted > machine->whole_count()) {
    findings.error(*processes, fmt::format("{} processes on a node of {} with {} accelerators",
                                           wanted, machine->name, machine->whole_count()));
  }
}

void import_launcher(const YamlView& root, Job& job) {
  const auto hyper = root.find("HyperParameters");
  if (!hyper) return;
  if (text_in(*hyper, "sagemaker_mpi_enabled") == "true") job.launcher = Launcher::kMpi;
  if (text_in(*hyper, "sagemaker_torch_distributed_enabled") == "true") {
    job.launcher = Launcher::kTorch;
  }
  constexpr std::string_view kProcesses = "sagemaker_mpi_num_of_processes_per_host";
  if (hyper->find(kProcesses)) job.processes_per_node = count_in(*hyper, kProcesses, 1);
  const std::string code = text_in(*hyper, "sagemaker_submit_directory");
  if (code.size() > 2) {
    // Written as JSON text, see put_launcher.
    job.platforms[kPlatform]["code_uri"] = Json::parse(code, "HyperParameters").as_string();
    job.code = ".";
  }
}

void import_data(const YamlView& root, Job& job) {
  if (const auto channels = root.find("InputDataConfig")) {
    for (const YamlView& channel : channels->items()) {
      const std::string mode = text_in(channel, "InputMode");
      job.inputs.push_back({channel.at("ChannelName").text(),
                            channel.at("DataSource").at("S3DataSource").at("S3Uri").text(),
                            mode == "FastFile" ? "mount"
                            : mode == "Pipe"   ? "stream"
                                               : "download"});
    }
  }
  const std::string output = text_in(root.at("OutputDataConfig"), "S3OutputPath");
  if (output != kNowhere) job.outputs.push_back({"model", output, "upload"});
  if (const auto checkpoints = root.find("CheckpointConfig")) {
    job.checkpoints = checkpoints->at("S3Uri").text();
  }
}

// Of a request, not of what DescribeTrainingJob returns.
Job import_job(const YamlView& root) {
  Job job;
  job.name = root.at("TrainingJobName").text();
  const YamlView algorithm = root.at("AlgorithmSpecification");
  job.image = text_in(algorithm, "TrainingImage");
  job.command = texts_in(algorithm, "ContainerEntrypoint");
  for (std::string& word : texts_in(algorithm, "ContainerArguments")) {
    job.command.push_back(std::move(word));
  }
  job.metrics = named_values_in(algorithm, "MetricDefinitions", "Name", "Regex");
  const std::string role = text_in(root, "RoleArn");
  if (role != kRole) job.platforms[kPlatform]["role"] = role;
  import_launcher(root, job);
  job.environment = pairs_in(root, "Environment");
  import_data(root, job);
  const YamlView resources = root.at("ResourceConfig");
  take_machine(job, kPlatform, "instance_type", text_in(resources, "InstanceType"));
  job.nodes = integer_in(resources, "InstanceCount", 1);
  job.disk_gib = integer_in(resources, "VolumeSizeInGB", 0);
  const YamlView stop = root.at("StoppingCondition");
  job.time_limit_s = integer_in(stop, "MaxRuntimeInSeconds", 0);
  if (const auto spot = root.find("EnableManagedSpotTraining")) job.spot = spot->boolean();
  if (const auto wait = stop.find("MaxWaitTimeInSeconds")) {
    job.platforms[kPlatform]["max_wait"] = wait->integer();
  }
  if (const auto retry = root.find("RetryStrategy")) {
    job.retries = integer_in(*retry, "MaximumRetryAttempts", 0);
  }
  job.tags = named_values_in(root, "Tags", "Key", "Value");
  // Last, when inputs and outputs are known by their paths.
  job.command = emptied(job.command, sagemaker_places(job));
  return job;
}

}  // namespace
}  // namespace sagemaker

const Format kSageMaker = {
    .id = "sagemaker",
    .title = "Amazon SageMaker",
    .options = sagemaker::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/sagemaker.yaml"; },
    .render = sagemaker::render,
    .check = sagemaker::check,
    .import = sagemaker::import_job,
    .recognize =
        [](const Json& root) {
          return root.find("TrainingJobName") != nullptr ||
                 root.find("AlgorithmSpecification") != nullptr;
        },
};

}  // namespace trainyard::jobs
