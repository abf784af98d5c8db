// SkyPilot: a task that runs on any cloud it knows.
#include <fmt/format.h>

#include "base/shell.h"
#include "base/text.h"
#include "cluster/jobs/formats/common.h"
#include "cluster/jobs/formats/slurm_script.h"

namespace trainyard::jobs {

extern const Format kSkyPilot;

namespace skypilot {
namespace {

constexpr std::string_view kPlatform = "skypilot";
constexpr std::string_view kTitle = "SkyPilot";
const std::vector<std::string_view>& schemes() {
  static const std::vector<std::string_view> kSchemes = {"s3", "gs", "r2", "cos", "https"};
  return kSchemes;
}

bool is_mountable(const std::string& uri) {
  const std::string scheme = parse_uri(uri).scheme;
  return std::find(schemes().begin(), schemes().end(), scheme) != schemes().end();
}

// Paths are ours to choose, as file_mounts names both sides.
std::string mount_path(std::string_view kind, const DataPlace& place) {
  return kind == "checkpoints" ? "/checkpoints" : fmt::format("/{}/{}", kind, place.name);
}

std::vector<PlacePath> places_of(const Job& job) {
  return known_places(job, kPlatform, [](std::string_view kind, const DataPlace& place) {
    return is_mountable(place.uri) ? mount_path(kind, place) : place.uri;
  });
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

void put_resources(Draft& draft) {
  const Job& job = draft.job();
  for (const char* key : {"infra", "instance_type"}) {
    const std::string value = job.option(kPlatform, key);
    if (!value.empty()) draft.set(fmt::format("resources.{}", key), value);
  }
  if (job.count > 0) {
    if (job.accelerator == kAnyAccelerator)
      job.fail("machine.accelerator", "SkyPilot wants its name");
    draft.put("machine.accelerator", "resources.accelerators",
              fmt::format("{}:{}", upper(job.accelerator), job.count));
    draft.says("machine.count", "resources.accelerators", std::to_string(job.count));
  }
  if (job.cpus > 0) draft.put("machine.cpus", "resources.cpus", fmt::format("{}+", job.cpus));
  if (job.memory_gib > 0) {
    draft.put("machine.memory_gib", "resources.memory", fmt::format("{}+", job.memory_gib));
  }
  if (job.disk_gib > 0) draft.put("machine.disk_gib", "resources.disk_size", job.disk_gib);
  if (job.spot) draft.put("spot", "resources.use_spot", true);
  const std::string image = job.image_for(kPlatform);
  if (!image.empty()) draft.put("image", "resources.image_id", "docker:" + image);
  if (job.retries > 0) {
    draft.put("retries", "resources.job_recovery.max_restarts_on_errors", job.retries);
  }
  if (!job.tags.empty()) {
    draft.put_pairs("tags", "resources.labels",
                    tags_for(draft, {.extra = "-_", .lower_case = true}, kTitle));
  }
}

void put_mounts(Draft& draft) {
  const Job& job = draft.job();
  const auto put = [&](std::string_view field, const std::vector<DataPlace>& places) {
    bool any = places.empty();
    for (DataPlace place : places) {
      place.uri = uri_for(job, kPlatform, place.name, place.uri);
      if (!reachable(draft, field, place, schemes(), kSkyPilot)) continue;
      any = true;
      draft.put(field, member_path("file_mounts", mount_path(field, place)),
                Json::object({{"source", place.uri},
                              {"mode", place.mode == "download" ? "COPY" : "MOUNT"}}));
    }
    if (!any) draft.cannot(field, "none of them is a bucket");
  };
  put("inputs", job.inputs);
  put("outputs", job.outputs);
  if (!job.checkpoints.empty()) put("checkpoints", {{"checkpoints", job.checkpoints}});
}

// The command behind its launcher; the variables of bash stay as they are.
std::string launch_line(const Job& job) {
  const std::string limit =
      job.time_limit_s > 0 ? fmt::format("timeout {} ", job.time_limit_s) : "";
  const std::string words = "\"${command[@]}\"";
  if (job.launcher == Launcher::kTorch) {
    return fmt::format(
        "{}torchrun --nnodes \"$SKYPILOT_NUM_NODES\" --nproc-per-node {} --node-rank "
        "\"$SKYPILOT_NODE_RANK\" --master-addr \"$(echo \"$SKYPILOT_NODE_IPS\" | head -n 1)\" "
        "--master-port 29500 --no-python {}\n",
        limit, job.processes_per_node, words);
  }
  if (job.launcher == Launcher::kNone) return limit + words + "\n";
  // mpirun hands on only the variables that it is told to.
  std::string variables;
  for (const Pairs* pairs : {&job.environment, &job.secrets}) {
    for (const auto& [name, value] : *pairs) variables += fmt::format("-x {} ", name);
  }
  return fmt::format(
      "# The first node starts the processes of all.\n"
      "if [ \"$SKYPILOT_NODE_RANK\" -eq 0 ]; then\n"
      "  hosts=$(echo \"$SKYPILOT_NODE_IPS\" | sed 's/$/:{}/' | paste -sd, -)\n"
      "  {}mpirun -n {} --host \"$hosts\" {}{}\n"
      "fi\n",
      job.processes_per_node, limit, job.processes(), variables, words);
}

void put_run(Draft& draft) {
  const Job& job = draft.job();
  const std::vector<PlacePath> places = places_of(job);
  std::string run = slurm::array_line("start", filled(job, job.command, places)) + "\n";
  // Without checkpoints nothing tells a restart from a first start.
  const std::vector<std::string> again = resume_command(job);
  run += again.empty() || job.checkpoints.empty()
             ? ""
             : slurm::array_line("resume", filled(job, again, places)) + "\n";
  run += "command=(\"${start[@]}\")\n";
  if (!again.empty() && !job.checkpoints.empty()) {
    const std::string folder = filled(job, {"{checkpoints}"}, places)[0];
    run += fmt::format("[ -z \"$(ls -A {} 2>/dev/null)\" ] || command=(\"${{resume[@]}}\")\n",
                       shell_word(folder));
    draft.says("resume", "run", "where checkpoints are found");
  } else if (!job.resume.empty()) {
    draft.cannot("resume", "only with 'checkpoints', which tell a new start from another");
  }
  run += launch_line(job);
  draft.put("command", "run", run);
  if (job.time_limit_s > 0)
    draft.says("time_limit", "run", fmt::format("timeout {}", job.time_limit_s));
  if (job.launcher != Launcher::kNone) {
    draft.says("launcher", "run", job.launcher == Launcher::kMpi ? "mpirun" : "torchrun");
  }
  if (job.processes_per_node > 1) {
    draft.says("processes_per_node", "run", std::to_string(job.processes_per_node));
  }
}

// Values of secrets are taken from the environment of whoever submits.
void put_steps(Draft& draft, const std::string& name) {
  std::string secrets;
  for (const auto& [variable, reference] : draft.job().secrets) secrets += " --secret " + variable;
  draft.step("submit", fmt::format("sky jobs launch -n {} skypilot.yaml{}", name, secrets));
  draft.step("watch", "sky jobs queue");
  draft.step("log", fmt::format("sky jobs logs -n {}", name));
  draft.step("stop", fmt::format("sky jobs cancel -n {}", name));
}

void render(Draft& draft) {
  const Job& job = draft.job();
  const std::string name = name_for(draft, {.extra = "-_.", .letter_first = true}, kTitle);
  draft.put("name", "name", name);
  if (!job.code.empty()) draft.put("code", "workdir", job.code);
  draft.put("nodes", "num_nodes", job.nodes);
  put_resources(draft);
  draft.put_pairs("environment", "envs", job.environment);
  for (const auto& [variable, reference] : job.secrets) {
    // Null: the value is not written into the file.
    draft.put("secrets", "secrets." + variable, Json());
    draft.note("secrets." + variable,
               fmt::format("the value of {} is handed over by sky --secret", reference));
  }
  put_mounts(draft);
  const std::string setup = job.option(kPlatform, "setup");
  if (!setup.empty()) draft.set("setup", setup);
  put_run(draft);
  if (!job.description.empty()) draft.cannot("description", "a task has none");
  if (!job.metrics.empty()) draft.cannot("metrics", "logs are not searched");
  draft.finish_file("skypilot.yaml", Draft::Style::kYaml);
  put_steps(draft, name);
}

struct Accelerators {
  std::string name;
  int64_t count = 1;
};

// "V100:4" or {V100: 4}.
Accelerators accelerators_in(const YamlView& view) {
  Accelerators found;
  if (view.json().is_object() && !view.json().members().empty()) {
    const auto& [name, count] = view.json().members().front();
    found = {name, count.is_int() ? count.as_int() : 1};
  } else {
    const std::vector<std::string> parts = split(view.text(), ':');
    found = {parts[0], parts.size() > 1 ? leading_count(parts[1], 1) : 1};
  }
  for (char& c : found.name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return found;
}

void check(const YamlView& root, Findings& findings) {
  if (const auto envs = root.find("envs"); envs && envs->json().is_object()) {
    check_plain_secrets(*envs, findings);
  }
  if (const auto secrets = root.find("secrets"); secrets && secrets->json().is_object()) {
    for (const auto& [name, value] : secrets->members()) {
      if (value.json().is_string())
        findings.warning(value, "a secret in plain text; leave the value empty");
    }
  }
  const auto resources = root.find("resources");
  const auto view = resources ? resources->find("accelerators") : std::nullopt;
  if (!view || !(view->json().is_string() || view->json().is_object())) return;
  const Accelerators wanted = accelerators_in(*view);
  const std::vector<std::string> names = accelerator_names();
  if (std::find(names.begin(), names.end(), wanted.name) == names.end()) {
    std::vector<std::string> shown;
    for (const std::string& name : names) shown.push_back(upper(name));
    const std::string said = upper(wanted.name);
    findings.error(
        *view, fmt::format("accelerator '{}' is not known.{}", said, did_you_mean(said, shown)));
    return;
  }
  // Any cloud's machines: SkyPilot picks the cloud.
  std::vector<std::string> counts;
  for (const Machine& machine : machines()) {
    if (machine.accelerator != wanted.name || machine.whole_count() < 1) continue;
    if (machine.whole_count() == wanted.count) return;
    counts.push_back(fmt::format("{} ({})", machine.whole_count(), machine.name));
  }
  findings.error(*view, fmt::format("no machine has {} {}; there are {}", wanted.count,
                                    upper(wanted.name), join(counts, ", ")));
}

void import_resources(const YamlView& resources, Job& job) {
  for (const std::string_view key : {"infra", "instance_type"}) {
    const std::string value = text_in(resources, key);
    if (!value.empty()) job.platforms[kPlatform][key] = value;
  }
  if (const auto view = resources.find("accelerators")) {
    const Accelerators found = accelerators_in(*view);
    job.accelerator = found.name;
    job.count = found.count;
  }
  job.cpus = count_in(resources, "cpus", 0);
  job.memory_gib = count_in(resources, "memory", 0);
  job.disk_gib = integer_in(resources, "disk_size", 0);
  if (const auto spot = resources.find("use_spot")) job.spot = spot->boolean();
  const std::string image = text_in(resources, "image_id");
  if (image.starts_with("docker:")) job.image = image.substr(7);
  if (const auto recovery = resources.find("job_recovery");
      recovery && recovery->json().is_object()) {
    job.retries = integer_in(*recovery, "max_restarts_on_errors", 0);
  }
  job.tags = pairs_in(resources, "labels");
}

void import_mounts(const YamlView& mounts, Job& job) {
  for (const auto& [path, mount] : mounts.members()) {
    const bool whole = mount.json().is_object();
    const std::string source = whole ? text_in(mount, "source") : mount.text();
    const std::string mode = whole && text_in(mount, "mode") == "COPY" ? "download" : "mount";
    const std::string last = path.substr(path.rfind('/') + 1);
    if (path == "/checkpoints") {
      job.checkpoints = source;
    } else if (path.starts_with("/outputs/")) {
      job.outputs.push_back({last, source, mode == "download" ? "" : "mount"});
    } else {
      job.inputs.push_back({last, source, mode});
    }
  }
}

// Of our own scripts all of it; of others' the whole as a command of bash.
void import_run(const std::string& run, Job& job) {
  job.command = slurm::array_in(run, "start");
  job.resume = slurm::array_in(run, "resume");
  if (job.command.empty()) job.command = {"bash", "-c", run};
  const auto number = [&](std::string_view mark) {
    const size_t at = run.find(mark);
    if (at == std::string::npos) return int64_t{0};
    return leading_count(std::string_view(run).substr(at + mark.size()), 0);
  };
  if (run.find("mpirun -n ") != std::string::npos) {
    job.launcher = Launcher::kMpi;
    job.processes_per_node =
        std::max<int64_t>(1, number("mpirun -n ") / std::max<int64_t>(1, job.nodes));
  } else if (run.find("torchrun ") != std::string::npos) {
    job.launcher = Launcher::kTorch;
    job.processes_per_node = std::max<int64_t>(1, number("--nproc-per-node "));
  }
  // In somebody else's script "timeout" may mean anything.
  if (job.command[0] != "bash") job.time_limit_s = number("timeout ");
}

Job import_job(const YamlView& root) {
  Job job;
  job.name = text_in(root, "name");
  if (job.name.empty()) job.name = "sky-task";
  job.code = text_in(root, "workdir");
  job.nodes = integer_in(root, "num_nodes", 1);
  if (const auto resources = root.find("resources")) import_resources(*resources, job);
  job.environment = pairs_in(root, "envs");
  if (const auto secrets = root.find("secrets")) {
    for (const auto& [name, value] : secrets->json().members()) {
      // A name of a secret from the name of its variable, as the file has no other.
      job.secrets.emplace_back(name, fixed_name(name, {.extra = "._-"}));
    }
  }
  if (const auto mounts = root.find("file_mounts")) import_mounts(*mounts, job);
  const std::string setup = text_in(root, "setup");
  if (!setup.empty()) job.platforms[kPlatform]["setup"] = setup;
  import_run(root.at("run").text(), job);
  const std::vector<PlacePath> places = places_of(job);
  job.command = emptied(job.command, places);
  job.resume = emptied(job.resume, places);
  return job;
}

}  // namespace
}  // namespace skypilot

const Format kSkyPilot = {
    .id = "skypilot",
    .title = "SkyPilot",
    .options = skypilot::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/skypilot.yaml"; },
    .render = skypilot::render,
    .check = skypilot::check,
    .import = skypilot::import_job,
    .recognize =
        [](const Json& root) {
          return root.find("run") != nullptr ||
                 (root.find("resources") != nullptr && root.find("num_nodes") != nullptr);
        },
};

}  // namespace trainyard::jobs
