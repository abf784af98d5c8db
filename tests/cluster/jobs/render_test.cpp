#include "cluster/jobs/render.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/shell.h"
#include "cluster/jobs/compare.h"
#include "cluster/jobs/examples.h"
#include "cluster/jobs/job_file.h"
#include "support/error_message.h"
#include "support/python_yaml.h"

namespace trainyard::jobs {
namespace {

constexpr const char* kSmall =
    "name: small\nimage: registry/a:1\ncommand: [python, train.py, --lr, 0.1]\n";
constexpr const char* kTorch =
    "name: Torch_Job.2\nimage: registry/a:1\ncommand: python train.py --data {inputs.a}\nlauncher: "
    "torch\n"
    "nodes: 3\nprocesses_per_node: 8\nmachine: {accelerator: a100, count: 8, cpus: 64, memory_gib: "
    "500}\n"
    "inputs: {a: {uri: 's3://b/c', mode: mount}}\noutputs: {m: 's3://b/o', n: 's3://b/p'}\n"
    "secrets: {KEY: store/key}\nenvironment: {A: '1', B: 'x y'}\ntime_limit: 90m\nretries: 2\n"
    "platforms:\n  kubernetes: {uris: {a: 'pvc://x/y', m: 'pvc://x/o', n: 'pvc://z'}}\n"
    "  slurm: {uris: {a: /data/a, m: /out/m, n: /out/n}}\n"
    "  vertex: {uris: {a: 'gs://x/y', m: 'gs://x/o', n: 'gs://x/n'}}\n"
    "  azureml: {compute: gpus, uris: {a: 'azureml://datastores/d/paths/a', m: "
    "'azureml://datastores/d/paths/m', "
    "n: 'azureml://datastores/d/paths/n'}}\n";
constexpr const char* kOneNode =
    "name: one\nimage: registry/a:1\ncommand: trainyard train --model lenet5 --name x --runs "
    "{checkpoints}\n"
    "processes_per_node: 2\nmachine: {accelerator: t4, count: 4}\ncheckpoints: 's3://b/c'\nspot: "
    "true\n"
    "platforms: {slurm: {grace: 60, uris: {checkpoints: /c}}, vertex: {uris: {checkpoints: "
    "'gs://b/c'}}}\n";

std::vector<Job> some_jobs() {
  return {example(), job_of(kSmall), job_of(kTorch), job_of(kOneNode)};
}

TEST(Render, GoldenFiles) {
  const Job job = example();
  for (const Format* format : all_formats()) {
    for (const RenderedFile& file : render(job, *format).files) {
      EXPECT_EQ(file.text(), read_file(std::string(TY_JOBS_GOLDEN) + "/" + file.name)) << file.name;
    }
  }
}

TEST(Render, ImportAndRenderAgainIsStable) {
  for (const Job& job : some_jobs()) {
    for (const Format* format : all_formats()) {
      SCOPED_TRACE(job.name + " for " + std::string(format->id));
      const Rendering first = render(job, *format);
      const JobFile file = parse_job_file(first.files[0].text(), first.files[0].name);
      ASSERT_EQ(file.format, format);
      const Job imported = import_job_file(file);
      const Job read = job_of(job_yaml(imported));
      const Rendering second = render(read, *format);
      EXPECT_EQ(second.files[0].text(), first.files[0].text());
    }
  }
}

TEST(Render, OwnFilesHaveNoErrors) {
  for (const Job& job : some_jobs()) {
    for (const Format* format : all_formats()) {
      for (const RenderedFile& file : render(job, *format).files) {
        const CheckResult result = check_job_file(parse_job_file(file.text(), file.name));
        for (const Finding& finding : result.findings) {
          EXPECT_EQ(finding.severity, Severity::kWarning)
              << file.name << ":" << finding.line << " " << finding.field << " " << finding.message;
        }
      }
    }
  }
}

TEST(Render, EveryFieldIsExpressedOrSaidToBeMissing) {
  const Job job = example();
  std::vector<Rendering> renderings;
  for (const Format* format : all_formats()) renderings.push_back(render(job, *format));
  const std::vector<ComparedRow> rows = compare(job, renderings);
  EXPECT_EQ(rows.size(), set_fields(job).size());
  for (const ComparedRow& row : rows) {
    for (const ComparedCell& cell : row.cells) {
      EXPECT_FALSE(cell.path.empty() && cell.value.empty()) << row.field << " " << cell.platform;
    }
  }
  const std::vector<std::string> lines = differences(rows);
  EXPECT_NE(std::find(lines.begin(), lines.end(), "metrics: sagemaker alone"), lines.end());
}

TEST(Render, ImpossibleCombinationsNameFileLineAndField) {
  const auto problem = [](const std::string& text, const char* to) {
    return message_of([&] { render(job_of(text), find_format(to)); });
  };
  const std::string head = "name: a\nimage: i\ncommand: x\n";
  EXPECT_EQ(
      problem(
          head +
              "machine:\n  accelerator: v100\n  count: 8\nplatforms: {sagemaker: {instance_type: "
              "ml.p3.8xlarge}}\n",
          "sagemaker"),
      "job.yaml:6: field 'machine.count': 8 v100 wanted, but ml.p3.8xlarge of SageMaker has 4");
  EXPECT_NE(problem(head + "machine: {accelerator: v100, count: 3}\n", "sagemaker")
                .find("1 (ml.p3.2xlarge), 4"),
            std::string::npos);
  EXPECT_NE(
      problem(head + "platforms:\n  sagemaker:\n    instance_type: ml.p3.2xlarg\n", "sagemaker")
          .find("job.yaml:6: field 'platforms.sagemaker.instance_type': SageMaker has no machine "
                "'ml.p3.2xlarg'. Did you mean ml.p3.2xlarge"),
      std::string::npos);
  EXPECT_NE(
      problem(head + "nodes: 2\nmachine: {accelerator: tpu-v3, count: 8}\nplatforms: {vertex: "
                     "{machine_type: "
                     "cloud-tpu}}\n",
              "vertex")
          .find(
              "job.yaml:4: field 'nodes': 2 wanted, but Vertex AI trains on TPUs with one replica"),
      std::string::npos);
  EXPECT_NE(problem("name: a\ncommand: x\n", "k8s-mpijob").find("field 'image'"),
            std::string::npos);
  EXPECT_NE(problem(head + "spot: true\n", "sagemaker").find("needs a place for checkpoints"),
            std::string::npos);
  EXPECT_NE(problem("name: '___'\nimage: i\ncommand: x\n", "sagemaker")
                .find("job.yaml:1: field 'name': nothing"),
            std::string::npos);
  EXPECT_NE(problem("name: a\nimage: i\ncommand: 'x {inputs.a}'\n", "slurm").find("names no input"),
            std::string::npos);
  EXPECT_NE(problem(head + "inputs: {a: 's3://b'}\nplatforms: {slurm: {uris: {c: /x}}}\n", "slurm")
                .find("platforms.slurm.uris.c': the job has no such input"),
            std::string::npos);
}

TEST(Render, NamesAreFixedWithANote) {
  const Rendering rendering =
      render(job_of("name: My Job_1\nimage: i\ncommand: x\n"), find_format("k8s-mpijob"));
  EXPECT_NE(rendering.files[0].text().find("name: my-job-1\n"), std::string::npos);
  ASSERT_FALSE(rendering.notes.empty());
  EXPECT_EQ(rendering.notes[0].text, "'My Job_1' became 'my-job-1': Kubernetes would refuse it");
}

// Both in one word, in either order.
TEST(Render, VariablesOfIbmAreLeftToItsShell) {
  const std::string text =
      render(
          job_of("name: a\nimage: i\ncommand: [x, '{outputs.m}:{inputs.a}', "
                 "'{inputs.a}:{outputs.m}']\ninputs: {a: 's3://b/c'}\noutputs: {m: 's3://b/o'}\n"),
          find_format("ibm"))
          .files[0]
          .text();
  EXPECT_NE(text.find(R"(x \"${RESULT_DIR}\"/m:\"${DATA_DIR}\"/a)"
                      R"( \"${DATA_DIR}\"/a:\"${RESULT_DIR}\"/m)"),
            std::string::npos)
      << text;
}

TEST(Render, NoLauncherIsNotMissing) {
  const Job job = job_of("name: a\nimage: i\ncommand: x\nnodes: 2\nlauncher: none\n");
  for (const Note& note : render(job, find_format("vertex")).missing) {
    EXPECT_NE(note.field, "launcher") << note.text;
  }
}

TEST(Render, NothingIsInjected) {
  const std::string nasty =
      "'; touch /tmp/pwned; echo \\\"$(id)\\\" `id` \\n- evil: true # ${{x}} *a &b";
  const std::string text = "name: a\nimage: i\ncommand: [echo, \"" + nasty +
                           "\"]\nenvironment: {A: \"$(touch x)'; \\\"b: c\"}\n";
  Job job = job_of(text);
  const std::string word = job.command[1];
  for (const Format* format : all_formats()) {
    SCOPED_TRACE(format->id);
    if (format->id == "azureml") {
      // Azure would expand it and has no way to write it.
      EXPECT_THROW(render(job, *format), Error);
      continue;
    }
    const Rendering rendering = render(job, *format);
    const Job back = import_job_file(parse_job_file(rendering.files[0].text(), "f"));
    EXPECT_EQ(back.command, job.command);
    EXPECT_EQ(back.environment, job.environment);
  }
  EXPECT_THROW(job_of("name: a\ncommand: x\ndescription: \"a\\n#SBATCH --uid=0\"\n"), Error);
}

// Line breaks of YAML and control characters, in every place that takes free text.
std::vector<Job> hostile_jobs() {
  std::vector<Job> jobs;
  for (const std::string breaker :
       {"\xe2\x80\xa8", "\xe2\x80\xa9", "\xc2\x85", "\r", "\n", "\r\n", "\x0b", "\x0c", "\x1b",
        "\x7f", "\xc2\x9b", "\xef\xbb\xbf", "\xef\xbf\xbf", "\t"}) {
    const std::string nasty = "a" + breaker + "setup: touch /tmp/pwned" + breaker + "  b: c";
    Job job = job_of("name: a\nimage: i\ncommand: x\ncheckpoints: 's3://b/c'\n");
    job.command = {"echo", nasty, breaker};
    job.resume = {"echo", nasty};
    job.environment = {{"A", nasty}};
    job.platforms["skypilot"]["setup"] = "echo " + nasty + "\n";
    jobs.push_back(std::move(job));
  }
  return jobs;
}

TEST(Render, LineBreaksOfYamlStayInTheirText) {
  std::vector<std::string> texts;
  std::vector<std::string> ours;
  for (const Job& job : hostile_jobs()) {
    for (const Format* format : all_formats()) {
      SCOPED_TRACE(format->id);
      const Rendering rendering = render(job, *format);
      for (const RenderedFile& file : rendering.files) {
        if (format->id == "slurm") continue;
        texts.push_back(file.text());
        ours.push_back(YamlDocument::parse(file.text(), file.name)->json().dump(-1));
      }
      // A script is read line by line, so that a text of several lines does not come back.
      if (format->id == "slurm") continue;
      const Job back = import_job_file(parse_job_file(rendering.files[0].text(), "f"));
      EXPECT_EQ(back.environment, job.environment);
      EXPECT_EQ(back.command, job.command);
    }
  }
  const auto read = read_by_python(texts);
  if (!read) GTEST_SKIP() << "no yaml module of Python";
  for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ((*read)[i].dump(-1), ours[i]) << texts[i];
}

TEST(Render, ScriptsOfShellsRunTheWordsAsTheyAre) {
  const std::string nasty = "a'b\"c$(echo no)`echo no` \\ ;|&";
  Job job = job_of("name: a\ncommand: x\n");
  job.command = {"printf", "%s", nasty};
  const std::string text = render(job, find_format("slurm")).files[0].text();
  // As bash reads the array of the script.
  const size_t begin = text.find("start=(");
  const std::string line = text.substr(begin + 7, text.find(")\n", begin) - begin - 7);
  EXPECT_EQ(shell_words(line), job.command);
}

}  // namespace
}  // namespace trainyard::jobs
