// Slurm: a batch script that saves before its time is over, queues itself again and resumes.
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/shell.h"
#include "base/text.h"
#include "cluster/jobs/formats/common.h"
#include "cluster/jobs/formats/slurm_script.h"

namespace trainyard::jobs {

extern const Format kSlurm;

namespace slurm {
namespace {

constexpr std::string_view kPlatform = "slurm";
constexpr std::string_view kTitle = "Slurm";
// Seconds between the signal and the end of the time limit.
constexpr int64_t kGrace = 120;
// Of --mem and --tmp, in GiB: megabytes unless a letter says otherwise.
constexpr Unit kMemoryUnits[] = {
    {"", 1.0 / 1024},         {"K", 1.0 / 1024 / 1024}, {"M", 1.0 / 1024}, {"G", 1},    {"T", 1024},
    {"k", 1.0 / 1024 / 1024}, {"m", 1.0 / 1024},        {"g", 1},          {"t", 1024},
};

bool is_path(const std::string& uri) {
  const std::string scheme = parse_uri(uri).scheme;
  return scheme.empty() || scheme == "file";
}

std::string path_of(const std::string& uri) {
  return uri.starts_with("file://") ? uri.substr(7) : uri;
}

std::vector<PlacePath> places_of(const Job& job) {
  return known_places(job, kPlatform, [](std::string_view, const DataPlace& place) {
    return is_path(place.uri) ? path_of(place.uri) : place.uri;
  });
}

std::string time_text(int64_t seconds) {
  return fmt::format("{}-{:02}:{:02}:{:02}", seconds / 86400, seconds / 3600 % 24,
                     seconds / 60 % 60, seconds % 60);
}

// Keys are the options themselves; the writer below makes lines of them.
void put_option(Draft& draft, std::string_view field, const char* option,
                const std::string& value) {
  if (field.empty()) {
    draft.set(option, value);
  } else {
    draft.put(field, option, value);
  }
}

void put_resources(Draft& draft) {
  const Job& job = draft.job();
  // torchrun starts the processes of a node, so Slurm starts it once per node.
  const bool torch = job.launcher == Launcher::kTorch;
  put_option(draft, "nodes", "--nodes", std::to_string(job.nodes));
  put_option(draft, "processes_per_node", "--ntasks-per-node",
             std::to_string(torch ? 1 : job.processes_per_node));
  if (job.cpus > 0) {
    const int64_t share =
        torch ? job.cpus : std::max<int64_t>(1, job.cpus / job.processes_per_node);
    put_option(draft, "machine.cpus", "--cpus-per-task", std::to_string(share));
  }
  if (job.count > 0) {
    const std::string kind = job.accelerator == kAnyAccelerator ? "" : job.accelerator + ":";
    put_option(draft, "machine.accelerator", "--gres", fmt::format("gpu:{}{}", kind, job.count));
    draft.says("machine.count", "--gres", std::to_string(job.count));
  }
  if (job.memory_gib > 0) {
    put_option(draft, "machine.memory_gib", "--mem", fmt::format("{}G", job.memory_gib));
  }
  if (job.disk_gib > 0)
    put_option(draft, "machine.disk_gib", "--tmp", fmt::format("{}G", job.disk_gib));
  if (job.time_limit_s > 0) put_option(draft, "time_limit", "--time", time_text(job.time_limit_s));
  for (const char* key : {"partition", "account", "qos", "constraint", "container"}) {
    const std::string value = job.option(kPlatform, key);
    if (!value.empty()) put_option(draft, "", fmt::format("--{}", key).c_str(), value);
  }
}

void put_options(Draft& draft) {
  const Job& job = draft.job();
  constexpr size_t kLongest = 128;
  const NameRule rule{.extra = "-_.", .longest = kLongest};
  put_option(draft, "name", "--job-name", name_for(draft, rule, kTitle));
  if (!job.description.empty()) put_option(draft, "description", "--comment", job.description);
  put_resources(draft);
  if (!job.code.empty()) put_option(draft, "code", "--chdir", job.code);
  // Appended, as a job that is queued again writes into the same file.
  draft.set("--output", "%x-%j.out");
  draft.set("--open-mode", "append");
  if (job.retries > 0) {
    draft.put("retries", "--requeue", true);
  } else {
    draft.set("--no-requeue", true);
  }
  // To the shell alone (B:), which decides what to do; see add_body.
  put_option(draft, "", "--signal",
             fmt::format("B:TERM@{}", job.number_option(kPlatform, "grace", kGrace)));
}

void put_missing(Draft& draft) {
  const Job& job = draft.job();
  if (!job.image.empty()) {
    if (job.option(kPlatform, "container").empty()) {
      draft.cannot("image",
                   "the command runs on the node itself; an OCI bundle goes to "
                   "platforms.slurm.container");
    } else {
      draft.cannot("image", "platforms.slurm.container stands in its place");
    }
  }
  if (job.spot) {
    draft.cannot("spot", "no field: a partition or QOS that may be preempted, with --requeue");
  }
  if (!job.tags.empty()) draft.cannot("tags", "a job has one --comment and no tags");
  if (!job.metrics.empty()) draft.cannot("metrics", "logs are not searched");
}

void says_places(Draft& draft) {
  const Job& job = draft.job();
  const auto say = [&](std::string_view field, const std::vector<DataPlace>& places) {
    bool any = places.empty();
    for (DataPlace place : places) {
      place.uri = uri_for(job, kPlatform, place.name, place.uri);
      if (!reachable(draft, field, place, {"", "file"}, kSlurm)) continue;
      draft.says(field, "start", path_of(place.uri));
      any = true;
    }
    if (!any) draft.cannot(field, "none of them is a path that the nodes see");
  };
  say("inputs", job.inputs);
  say("outputs", job.outputs);
  if (!job.checkpoints.empty()) say("checkpoints", {{"checkpoints", job.checkpoints}});
}

// The numbers are those of the job as it starts: it may have been given fewer nodes since.
std::string srun_line(const Job& job) {
  const std::string tasks =
      fmt::format("--nodes=\"$SLURM_JOB_NUM_NODES\" --ntasks=\"$((SLURM_JOB_NUM_NODES * {}))\"",
                  job.processes_per_node);
  if (job.launcher == Launcher::kMpi) {
    return fmt::format("srun --mpi=pmix {} \"${{command[@]}}\" &", tasks);
  }
  if (job.launcher == Launcher::kNone) return fmt::format("srun {} \"${{command[@]}}\" &", tasks);
  return fmt::format(
      "srun torchrun --nnodes \"$SLURM_JOB_NUM_NODES\" --nproc-per-node {} --rdzv-backend c10d "
      "--rdzv-endpoint \"$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1):29500\" "
      "--no-python \"${{command[@]}}\" &",
      job.processes_per_node);
}

class ScriptLines {
 public:
  void add(const std::string& text, const std::string& field = "") {
    // A word may hold line breaks; each line of the file is one here.
    for (std::string& line : split(text, '\n')) lines_.push_back({std::move(line), field});
  }
  std::vector<RenderedLine> take() { return std::move(lines_); }

 private:
  std::vector<RenderedLine> lines_;
};

void add_variables(const Job& job, ScriptLines& lines) {
  for (const auto& [name, value] : job.environment) {
    lines.add(fmt::format("export {}={}", name, shell_word(value)), "environment");
  }
  // Ends the script with a word if the variable is not set.
  for (const auto& [name, reference] : job.secrets) {
    lines.add(fmt::format(": \"${{{}:?the secret {} has to be in the environment of sbatch}}\"",
                          name, reference),
              "secrets");
  }
}

// The script saves before the limit and queues itself again: TERM reaches the shell `grace` seconds
// early, the tasks save and end with an error, and the job is queued again while retries are left.
void add_body(Draft& draft, ScriptLines& lines) {
  const Job& job = draft.job();
  const std::vector<PlacePath> places = places_of(job);
  const std::vector<std::string> again = resume_command(job);
  lines.add(array_line("start", filled(job, job.command, places)), "command");
  if (!again.empty()) lines.add(array_line("resume", filled(job, again, places)), "resume");
  lines.add(fmt::format("retries={}", job.retries), "retries");
  lines.add("");
  lines.add("command=(\"${start[@]}\")");
  if (!again.empty()) {
    lines.add("[ \"${SLURM_RESTART_COUNT:-0}\" -eq 0 ] || command=(\"${resume[@]}\")", "resume");
  }
  lines.add("");
  lines.add("# While Slurm delivers a signal the state is SIGNALING for a moment.");
  lines.add(
      "running() { [[ $(squeue --noheader --jobs=\"$SLURM_JOB_ID\" --format=%T) =~ "
      "^(RUNNING|SIGNALING)$ ]]; }");
  lines.add(
      "# TERM comes to this shell before the time limit: hand it to the tasks, which save and "
      "end.");
  lines.add("# When Slurm queues the job again it tells them itself.");
  lines.add("trap 'running && scancel --signal=TERM \"$SLURM_JOB_ID\"' TERM");
  lines.add(srun_line(job), "launcher");
  lines.add("step=$!");
  lines.add("# A signal ends the wait, not what is waited for.");
  lines.add("while wait \"$step\"; code=$?; kill -0 \"$step\" 2>/dev/null; do :; done");
  lines.add("trap - TERM");
  lines.add(
      "if [ \"$code\" -ne 0 ] && [ \"${SLURM_RESTART_COUNT:-0}\" -lt \"$retries\" ] && running; "
      "then",
      "retries");
  lines.add("  scontrol requeue \"$SLURM_JOB_ID\"", "retries");
  lines.add("fi");
  lines.add("exit \"$code\"");
}

// What the script expresses by its lines, not by options.
void say_body(Draft& draft) {
  const Job& job = draft.job();
  draft.says("command", "start", command_line(filled(job, job.command, places_of(job))));
  if (!job.resume.empty()) {
    draft.says("resume", "resume", command_line(filled(job, job.resume, places_of(job))));
  } else if (!resume_command(job).empty()) {
    draft.note("resume", "found in the command: " + command_line(resume_command(job)));
  }
  if (!job.environment.empty()) draft.says("environment", "export", "export …");
  if (!job.secrets.empty()) {
    draft.says("secrets", "environment of sbatch", "--export=ALL (the default)");
  }
  if (job.launcher != Launcher::kNone) {
    draft.says("launcher", "srun",
               job.launcher == Launcher::kMpi ? "srun --mpi=pmix" : "srun torchrun");
  }
}

void render(Draft& draft) {
  put_options(draft);
  says_places(draft);
  put_missing(draft);
  say_body(draft);
  ScriptLines lines;
  lines.add("#!/bin/bash");
  // Options before everything else, since sbatch ignores those behind a command.
  for (const auto& [option, value] : draft.root().members()) {
    lines.add(value.is_bool() ? fmt::format("#SBATCH {}", option)
                              : fmt::format("#SBATCH {}={}", option, shell_word(value.as_string())),
              draft.field_of(option));
  }
  lines.add("");
  add_variables(draft.job(), lines);
  add_body(draft, lines);
  draft.add_file({"slurm.sbatch", lines.take()});
  draft.step("check", "sbatch --test-only slurm.sbatch");
  draft.step("submit", "sbatch slurm.sbatch");
  draft.step("watch", "squeue --me; tail -f NAME-ID.out");
  draft.step("stop and resume later", "scontrol requeue ID");
  draft.step("stop", "scancel ID");
}

// Slurm's forms: minutes, minutes:seconds, hours:minutes:seconds, days-hours[:minutes[:seconds]].
// Words such as UNLIMITED are no limit. Numbers are bounded so that no sum leaves 64 bits.
int64_t seconds_of(const std::string& text) {
  const size_t dash = text.find('-');
  const int64_t days = dash == std::string::npos ? 0 : leading_count(text, 0);
  const std::vector<std::string> parts =
      split(dash == std::string::npos ? text : text.substr(dash + 1), ':');
  std::vector<int64_t> numbers;
  for (const std::string& part : parts) numbers.push_back(leading_count(part, 0));
  // With days the first part is hours; without them one or two parts begin with minutes.
  numbers.resize(3);
  const bool minutes = dash == std::string::npos && parts.size() < 3;
  const int64_t rest =
      minutes ? numbers[0] * 60 + numbers[1] : numbers[0] * 3600 + numbers[1] * 60 + numbers[2];
  return days * 86400 + rest;
}

int64_t time_limit_in(const YamlView& view) {
  try {
    return seconds_of(view.text());
  } catch (const Error& problem) {
    view.fail(problem.what());
  }
}

void check(const YamlView& root, Findings& findings) {
  const std::string script = root.at("script").text();
  check_order(script, findings);
  const auto tasks = root.find("--ntasks-per-node");
  const auto gres = root.find("--gres");
  if (root.find("--requeue") && root.find("--no-requeue")) {
    findings.error(root.at("--no-requeue"), "beside --requeue");
  }
  if (const auto limit = root.find("--time"); limit && limit->json().is_string()) {
    time_limit_in(*limit);
  } else if (!limit) {
    findings.add(
        {Severity::kWarning, 1, "--time", "no time limit: the partition's holds, or none"});
  }
  if (!tasks || !gres || !gres->json().is_string() || !tasks->json().is_string()) return;
  const std::string text = gres->text();
  const int64_t gpus = leading_count(text.substr(text.rfind(':') + 1), 0);
  if (gpus > 0 && leading_count(tasks->text(), 0) > gpus) {
    findings.warning(*tasks, fmt::format("{} tasks share {} GPUs of a node", tasks->text(), gpus));
  }
}

// gpu:COUNT or gpu:KIND:COUNT.
void import_gpus(const std::string& gres, Job& job) {
  const std::vector<std::string> parts = split(gres, ':');
  if (parts.size() < 2 || parts[0] != "gpu") return;
  job.count = leading_count(parts.back(), 0);
  job.accelerator = parts.size() > 2 ? parts[1] : std::string(kAnyAccelerator);
}

// Recognizes the lines that `render` writes; of other scripts what looks the same.
void import_lines(const std::string& script, Job& job) {
  for (const std::string& line : split(script, '\n')) {
    if (line.starts_with("export ")) {
      for (const std::string& word : shell_words(line.substr(7))) {
        const size_t equals = word.find('=');
        if (equals != std::string::npos) {
          job.environment.emplace_back(word.substr(0, equals), word.substr(equals + 1));
        }
      }
    } else if (line.starts_with(": \"${") && line.find(":?the secret ") != std::string::npos) {
      const size_t mark = line.find(":?the secret ");
      const size_t begin = mark + std::string_view(":?the secret ").size();
      job.secrets.emplace_back(line.substr(5, mark - 5),
                               line.substr(begin, line.find(' ', begin) - begin));
    } else if (line.starts_with("retries=")) {
      job.retries = leading_count(std::string_view(line).substr(8), 0);
    } else if (line.find("srun ") != std::string::npos && line.find("--mpi") != std::string::npos) {
      job.launcher = Launcher::kMpi;
    } else if (const size_t at = line.find("torchrun "); at != std::string::npos) {
      job.launcher = Launcher::kTorch;
      const size_t count = line.find("--nproc-per-node ");
      if (count != std::string::npos) {
        job.processes_per_node = leading_count(std::string_view(line).substr(count + 17), 1);
      }
    }
  }
}

// The words behind srun and its options, for scripts of others.
std::vector<std::string> first_srun(const std::string& script) {
  for (const std::string& line : split(script, '\n')) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line.compare(begin, 5, "srun ") != 0) continue;
    std::vector<std::string> words = shell_words(line.substr(begin + 5));
    size_t at = 0;
    while (at < words.size() && words[at].starts_with('-')) {
      at += words[at].size() == 2 ? 2 : 1;
    }
    if (at < words.size()) return {words.begin() + static_cast<int64_t>(at), words.end()};
  }
  return {};
}

void import_options(const YamlView& root, Job& job) {
  job.name = text_in(root, "--job-name");
  if (job.name.empty()) job.name = "slurm-job";
  job.description = text_in(root, "--comment");
  job.nodes = count_in(root, "--nodes", 1);
  job.processes_per_node = count_in(root, "--ntasks-per-node", 1);
  import_gpus(text_in(root, "--gres"), job);
  job.memory_gib = quantity_of(text_in(root, "--mem"), kMemoryUnits);
  job.disk_gib = quantity_of(text_in(root, "--tmp"), kMemoryUnits);
  if (const auto limit = root.find("--time")) job.time_limit_s = time_limit_in(*limit);
  job.code = text_in(root, "--chdir");
  for (const std::string_view key : {"partition", "account", "qos", "constraint", "container"}) {
    const std::string value = text_in(root, fmt::format("--{}", key));
    if (!value.empty()) job.platforms[kPlatform][key] = value;
  }
  const std::string signal = text_in(root, "--signal");
  const size_t at = signal.find('@');
  if (at != std::string::npos) {
    const int64_t grace = leading_count(std::string_view(signal).substr(at + 1), 0);
    if (grace > 0 && grace != kGrace) job.platforms[kPlatform]["grace"] = grace;
  }
}

Job import_job(const YamlView& root) {
  Job job;
  import_options(root, job);
  const std::string script = root.at("script").text();
  import_lines(script, job);
  // cpus-per-task counts per task, the job's per node.
  const int64_t share = count_in(root, "--cpus-per-task", 0);
  job.cpus = job.launcher == Launcher::kTorch ? share : share * job.processes_per_node;
  job.command = array_in(script, "start");
  job.resume = array_in(script, "resume");
  if (job.command.empty()) job.command = first_srun(script);
  if (job.command.empty()) root.at("script").fail("expected an srun with a command");
  if (job.launcher == Launcher::kNone && job.processes_per_node > 1) job.launcher = Launcher::kMpi;
  return job;
}

}  // namespace
}  // namespace slurm

const Format kSlurm = {
    .id = "slurm",
    .title = "Slurm",
    .options = slurm::kPlatform,
    .schema = [](const Json&) -> std::string_view { return "schemas/slurm.yaml"; },
    .render = slurm::render,
    .check = slurm::check,
    .import = slurm::import_job,
    .recognize = [](const Json& root) { return root.find("script") != nullptr; },
};

}  // namespace trainyard::jobs
