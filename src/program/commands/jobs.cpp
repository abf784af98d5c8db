// `trainyard jobs …`: one description of a training job for every platform.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/jobs/embedded.h"
#include "cluster/jobs/render.h"
#include "cluster/jobs/view.h"
#include "models/network.h"
#include "program/command.h"

namespace trainyard::cli {
namespace {

constexpr int kRefused = 2;

struct JobFlags {
  std::string action;
  std::string file;
  std::vector<std::string> to;
  std::string output;
  std::string kind;
  std::optional<double> hours;
  std::string link;
  std::vector<std::string> catalogs;
  std::set<std::string> given;
  report::Format format = report::Format::kText;
};

// A job.yaml, or any other job file that is imported first.
jobs::Job load_job(const JobFlags& flags, std::vector<std::string>& warnings) {
  const jobs::JobFile file = jobs::open_job_file(flags.file, flags.kind);
  jobs::Job job;
  if (file.format == nullptr) {
    job = jobs::read_job(file.text, flags.file, warnings);
  } else {
    job = jobs::import_job_file(file);
    if (const std::string idle = jobs::idle_accelerators(job); !idle.empty()) {
      warnings.push_back(fmt::format("{}: {}", flags.file, idle));
    }
  }
  for (const std::string& warning : warnings) std::cerr << "warning: " << warning << "\n";
  return job;
}

// `fallback` if nobody said where to.
std::vector<jobs::Rendering> render_all(const JobFlags& flags, const jobs::Job& job,
                                        const std::vector<std::string>& fallback) {
  std::vector<jobs::Rendering> renderings;
  for (const jobs::Format* format : jobs::formats_of(flags.to.empty() ? fallback : flags.to)) {
    renderings.push_back(jobs::render(job, *format));
  }
  return renderings;
}

report::Document jobs_render(const JobFlags& flags) {
  TY_REQUIRE(!flags.to.empty(), "jobs render: say where to, as --to slurm or --to all");
  std::vector<std::string> warnings;
  const jobs::Job job = load_job(flags, warnings);
  const std::vector<jobs::Rendering> renderings = render_all(flags, job, {});
  std::vector<std::string> paths;
  if (!flags.output.empty()) paths = jobs::write_renderings(renderings, flags.output);
  return report::rendering_document(renderings, paths, warnings);
}

// Exit code 2 for what the platform would refuse, so that scripts can test for it.
int jobs_check(const JobFlags& flags, std::ostream& out) {
  const jobs::CheckResult result =
      jobs::check_job_file(jobs::open_job_file(flags.file, flags.kind));
  const std::string text = report::render(report::check_document(flags.file, result), flags.format);
  // As of 'check': for people findings are errors; programs read them where they read everything.
  if (!result.ok() && flags.format == report::Format::kText) throw Error(text);
  out << text;
  return result.ok() ? 0 : kRefused;
}

report::Document jobs_import(const JobFlags& flags) {
  const jobs::Job job = jobs::import_job_file(jobs::open_job_file(flags.file, flags.kind));
  if (flags.output.empty()) return report::import_document(job);
  write_file(flags.output, jobs::job_yaml(job));
  report::Document document;
  document.data = Json::object({{"file", flags.output}});
  document.blocks.emplace_back(report::Paragraph{"wrote " + flags.output});
  return document;
}

report::Document jobs_plan(const JobFlags& flags) {
  std::vector<std::string> warnings;
  const jobs::Job job = load_job(flags, warnings);
  // Networks are built by need: a plan may come from --hours alone.
  const jobs::PlanOptions options{
      .graphs = [](const std::string& name) { return network::load({.model = name, .batch = 1}); },
      .hours = flags.hours,
      .link = flags.link,
      .catalogs = flags.catalogs};
  return report::plan_document(job, jobs::plan_job(job, options));
}

report::Document jobs_compare(const JobFlags& flags) {
  std::vector<std::string> warnings;
  const jobs::Job job = load_job(flags, warnings);
  const std::vector<jobs::Rendering> renderings = render_all(flags, job, {"all"});
  return report::compare_document(job, renderings, jobs::compare(job, renderings));
}

report::Document jobs_platforms(const JobFlags& flags) {
  std::vector<std::string> only;
  for (const std::string& list : flags.to) {
    for (const std::string& name : split(list, ',')) {
      if (name != "all") only.push_back(name);
    }
  }
  return report::platforms_document(only);
}

// Only "new" writes two files; the schema lies beside the job, where the example refers to it.
report::Document jobs_new(const JobFlags& flags) {
  report::Document document;
  const std::string text(jobs::embedded_file("example.yaml"));
  const std::string schema(jobs::embedded_file("job.schema.json"));
  if (flags.output.empty()) {
    document.data =
        Json::object({{"text", text}, {"schema", Json::parse(schema, "job.schema.json")}});
    document.blocks.emplace_back(
        report::Paragraph{text.substr(0, text.size() - 1), report::Tone::kCode});
    return document;
  }
  const std::filesystem::path path = flags.output;
  // Its own example may be written again; what somebody changed may not.
  TY_REQUIRE(!std::filesystem::exists(path) || read_file(path) == text,
             "{} is there already; name another file", flags.output);
  const std::filesystem::path beside = path.parent_path() / "job.schema.json";
  write_file(path, text);
  write_file(beside, schema);
  document.data = Json::object({{"file", path.string()}, {"schema", beside.string()}});
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "wrote {} and {}, which editors check it against", path.string(), beside.string())});
  return document;
}

// Which flags belong to an action.
struct JobAction {
  const char* name;
  bool takes_file;
  std::vector<std::string> flags;
  report::Document (*run)(const JobFlags&);
};

const std::vector<JobAction>& job_actions() {
  static const std::vector<JobAction> kActions = {
      {"new", false, {"output"}, jobs_new},
      {"render", true, {"to", "output", "as"}, jobs_render},
      {"check", true, {"as"}, nullptr},
      {"import", true, {"output", "as"}, jobs_import},
      {"plan", true, {"hours", "link", "catalog", "as"}, jobs_plan},
      {"compare", true, {"to", "as"}, jobs_compare},
      {"platforms", false, {"to"}, jobs_platforms},
  };
  return kActions;
}

const JobAction& find_job_action(const std::string& name) {
  std::vector<std::string> names;
  for (const JobAction& action : job_actions()) {
    if (action.name == name) return action;
    names.emplace_back(action.name);
  }
  throw_error("jobs: '{}' is not one of {}.{}", name, join(names, ", "), did_you_mean(name, names));
}

// By a table, as the same flag belongs to several actions.
int jobs_command(const JobFlags& flags, std::ostream& out) {
  const JobAction& action = find_job_action(flags.action);
  for (const std::string flag : {"to", "output", "as", "hours", "link", "catalog"}) {
    const bool known =
        std::find(action.flags.begin(), action.flags.end(), flag) != action.flags.end();
    TY_REQUIRE(known || flags.given.count(flag) == 0, "jobs {}: --{} does not belong to it",
               action.name, flag);
  }
  TY_REQUIRE(action.takes_file != flags.file.empty(), "jobs {}: {}", action.name,
             action.takes_file ? "a file is missing; 'trainyard jobs new -o job.yaml' writes one"
                               : "takes no file; the flag for an output is -o");
  if (flags.action == "check") return jobs_check(flags, out);
  out << report::render(action.run(flags), flags.format);
  return 0;
}

Runner setup_jobs(Args& args) {
  auto flags = std::make_shared<JobFlags>();
  args.positional("ACTION", flags->action,
                  "new: an example; render: files for platforms; check: what is wrong with a file; "
                  "import: back to job.yaml; plan: machines and prices; compare: fields side by "
                  "side; platforms: services side by side");
  args.optional_positional("FILE", flags->file, "job.yaml, or a job file of any platform");
  args.repeated("--to", flags->to,
                "render, compare, platforms: sagemaker, vertex, azureml, ibm, k8s-mpijob, "
                "k8s-pytorchjob, k8s-trainjob, slurm, skypilot or all; several with commas");
  args.option("-o,--output", flags->output,
              "render: the folder for the files; new, import: the file to write");
  args.option("--as", flags->kind, "read FILE as this platform's format (or job)");
  args.option("--hours", flags->hours, "plan: hours, instead of the predicted time");
  args.option("--link", flags->link,
              "plan: link between nodes for the prediction (default: each machine's own)");
  args.repeated("--catalog", flags->catalogs, "plan: YAML file with more devices");
  args.given(flags->given);
  args.format(flags->format);
  return [flags](std::ostream& out) { return jobs_command(*flags, out); };
}

}  // namespace

extern const Command kJobs = {
    .name = "jobs",
    .group = "Train",
    .summary =
        "Describe a training job for clouds, Kubernetes, Slurm and SkyPilot: files, checks, prices",
    .examples =
        "  trainyard jobs new -o job.yaml\n"
        "  trainyard jobs render job.yaml --to all -o out\n"
        "  trainyard jobs render job.yaml --to slurm,k8s-mpijob\n"
        "  trainyard jobs check out/vertex.json\n"
        "  trainyard jobs import out/sagemaker.json -o job2.yaml\n"
        "  trainyard jobs plan job.yaml\n"
        "  trainyard jobs compare job.yaml --to sagemaker,vertex,azureml,ibm --html fields.html\n"
        "  trainyard jobs platforms --to sagemaker,ibm\n",
    .setup = setup_jobs,
};

}  // namespace trainyard::cli
