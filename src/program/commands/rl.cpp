// `trainyard rl`: reinforcement learning.
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/settings.h"
#include "base/shell.h"
#include "base/stop_signals.h"
#include "base/text.h"
#include "data/gif.h"
#include "dist/launch.h"
#include "dist/mpi/mpi_ranks.h"
#include "program/command.h"
#include "program/rl_flags.h"
#include "rl/agents/bench.h"
#include "rl/agents/play.h"
#include "rl/agents/run.h"
#include "rl/agents/run_files.h"
#include "rl/agents/view.h"
#include "rl/distributed/actor_process.h"
#include "rl/distributed/train_agent.h"
#include "rl/env/environment.h"
#include "rl/env/recording.h"
#include "train/progress.h"

namespace trainyard::cli {
namespace {

constexpr double kLongestBench = 3600;  // seconds of each part

struct RlFlags {
  std::string action;
  std::string path;
  RlSettingFlags settings;
  std::string config_file;
  std::string root = "runs";
  std::string name;
  std::string resume;
  std::vector<int64_t> seeds;
  std::string ranks = "processes";
  std::string out;
  int64_t frames = 24;
  double seconds = 1;
  std::vector<double> errors = {2, 1, 0.5, 0.25, 0.1};
  bool quiet = false;
  bool allow_exec = false;
  report::Format format = report::Format::kText;
};

int replay_recordings(const RlFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.path.empty(), "rl replay: the folder or file of recordings is missing");
  const std::vector<rl::RecordingCheck> checks = rl::check_recordings(flags.path);
  const report::Document document = recordings_document(checks);
  out << report::render(document, flags.format);
  return document.data.at("mismatches").as_int() == 0 ? 0 : 1;
}

runs::RunDirectory open_run(const RlFlags& flags, const rl::RlConfig& config,
                            const std::string& suffix) {
  if (!flags.resume.empty()) return runs::RunDirectory::resume(flags.root, flags.resume);
  const std::string game = rl::command_of(config.env) ? "exec" : config.env;
  std::string plain = game.substr(0, game.find(','));
  for (char& c : plain) c = c == '/' || c == ':' ? '-' : c;
  const std::string name = flags.name.empty() ? "" : flags.name + suffix;
  return runs::RunDirectory::create(flags.root, name, config.agent, plain + suffix);
}

// The text of the file that settings come from; empty: there is none.
std::string settings_text(const RlFlags& flags) {
  if (!flags.resume.empty()) {
    return read_settings_file(runs::RunDirectory::resume(flags.root, flags.resume).config());
  }
  return flags.config_file.empty() ? "" : read_settings_file(flags.config_file);
}

// A run or a file may come from a stranger: a command in it is started if the user says so, one
// that was typed always.
void require_allowed(const RlFlags& flags, const std::string& env, const std::string& origin) {
  const auto command = rl::command_of(env);
  TY_REQUIRE(!command || flags.allow_exec || flags.settings.given().contains("env"),
             "{}: its environment would start the program '{}'; --allow-exec lets it", origin,
             *command);
}

rl::RlConfig resolve_settings(const RlFlags& flags, const std::string& text,
                              const std::string& origin) {
  rl::RlConfig config = flags.settings.resolve(text, origin);
  require_allowed(flags, config.env, origin);
  return config;
}

rl::RlConfig resolve_config(const RlFlags& flags) {
  return resolve_settings(flags, settings_text(flags),
                          flags.resume.empty() ? flags.config_file : flags.resume);
}

// The settings of a run that is to be played, with what flags change.
rl::RlConfig settings_of_run(const RlFlags& flags) {
  return resolve_settings(flags, read_file(std::filesystem::path(flags.path) / "config.yaml"),
                          flags.path);
}

// Seeds of the runs: those of --seeds, or the one of the settings.
std::vector<int64_t> seeds_of(const RlFlags& flags, const rl::RlConfig& config) {
  if (flags.seeds.empty()) return {config.seed};
  TY_REQUIRE(std::set(flags.seeds.begin(), flags.seeds.end()).size() == flags.seeds.size(),
             "--seeds names a seed twice");
  TY_REQUIRE(flags.seeds.size() == 1 || flags.resume.empty(), "--resume continues one run, not {}",
             flags.seeds.size());
  return flags.seeds;
}

// What a run shows on stderr; ranks but the first are silent.
class RunDisplay {
 public:
  explicit RunDisplay(bool quiet) : progress_(std::cerr, train::Progress::mode_for_stderr(quiet)) {
    hooks_.should_stop = [this] { return signals_.requested(); };
    hooks_.note = [this](const std::string& text) { progress_.note(text); };
    if (!quiet) hooks_.progress = hooks_.note;
  }
  const rl::RunHooks& hooks() const { return hooks_; }
  void note(const std::string& text) { progress_.note(text); }

 private:
  StopSignals signals_;
  train::Progress progress_;
  rl::RunHooks hooks_;
};

using TrainOne = std::function<rl::RunResult(const rl::RlConfig&, const runs::RunDirectory*)>;

// A run for each seed, and the report of all.
int lead_training(const RlFlags& flags, const rl::RlConfig& config, RunDisplay& showing,
                  const TrainOne& train_one, std::ostream& out) {
  const std::vector<int64_t> seeds = seeds_of(flags, config);
  std::vector<SeedRun> done;
  for (const int64_t seed : seeds) {
    rl::RlConfig own = config;
    own.seed = seed;
    const std::string suffix = seeds.size() > 1 ? fmt::format("-seed{}", seed) : "";
    const runs::RunDirectory directory = open_run(flags, own, suffix);
    const std::string path = directory.path().string();
    // Before its settings are replaced: those of a refused request must not stay in the run.
    if (!flags.resume.empty()) rl::require_same_course(rl::load_config(path), own);
    write_file(directory.config(), rl::settings_of(own).to_yaml());
    showing.note(fmt::format("{} on {}, seed {} -> {}", own.agent, own.env, seed, path));
    done.push_back({seed, path, train_one(own, &directory)});
    if (!done.back().result.stopped) continue;
    const std::string text =
        fmt::format("trainyard: stopped after step {}; resume with: trainyard rl train --resume {}",
                    done.back().result.steps, shell_word(path));
    flags.quiet ? void(std::cerr << text << "\n") : showing.note(text);
    break;
  }
  const report::Document document = training_document(config, done);
  write_file(std::filesystem::path(done[0].directory) / "report.html",
             report::render(document, report::Format::kHtml));
  out << report::render(document, flags.format);
  return done.back().result.stopped ? 1 : 0;
}

// One process of several, started by mpirun, srun or by us.
int train_rank(const RlFlags& flags, std::ostream& out, dist::Communicator& comm) {
  const bool leads = comm.rank() == 0;
  // Only rank 0 needs to see the files of the run.
  const std::string text = comm.share_text(leads ? settings_text(flags) : "");
  const rl::RlConfig config = resolve_settings(flags, text, "the settings of rank 0");
  TY_REQUIRE(flags.seeds.size() < 2, "--seeds runs one after the other: --ranks threads");
  RunDisplay showing(flags.quiet || !leads);
  if (!leads) {
    rl::train_agent_rank(comm, config, nullptr, showing.hooks());
    return 0;
  }
  const auto train_one = [&](const rl::RlConfig& own, const runs::RunDirectory* directory) {
    return rl::train_agent_rank(comm, own, directory, showing.hooks());
  };
  return lead_training(flags, config, showing, train_one, out);
}

int start_ranks(const RlFlags& flags, int64_t ranks, std::ostream& out) {
  std::vector<std::string> command = flags.settings.arguments();
  command.insert(command.begin(), {"rl", "train"});
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) command.insert(command.end(), {flag, value});
  };
  add("--config", flags.config_file);
  add("--runs-dir", flags.root);
  add("--name", flags.name);
  add("--resume", flags.resume);
  add("--format", std::string(report::format_name(flags.format.kind)));
  if (flags.quiet) command.emplace_back("--quiet");
  if (flags.allow_exec) command.emplace_back("--allow-exec");
  const StopSignals signals;
  const dist::JobEnd end = dist::run_job(ranks, command, [&] { return signals.requested(); });
  out << end.output;
  if (end.code == 0 || signals.requested()) return end.code == 0 ? 0 : 1;
  throw_failure(
      "the job of {} ranks ended with exit code {}; the last checkpoint is kept, resume "
      "with --resume",
      ranks, end.code);
}

int train_agents(const RlFlags& flags, std::ostream& out) {
  if (dist::launched_as_rank()) {
    return dist::run_as_mpi_rank(
        [&](dist::Communicator& comm) { return train_rank(flags, out, comm); });
  }
  const rl::RlConfig config = resolve_config(flags);
  // What cannot be played or learned is refused before there is a run directory.
  rl::require_learnable(config, rl::make_environment(config.env, 1)->spec());
  const bool processes = flags.ranks == "processes";
  if (config.agent == "gorila" && processes && flags.seeds.size() < 2) {
    return start_ranks(flags, config.ranks(), out);
  }
  RunDisplay showing(flags.quiet);
  const auto train_one = [&](const rl::RlConfig& own, const runs::RunDirectory* directory) {
    return rl::train_agent(own, directory, showing.hooks(),
                           processes ? rl::Actors::kProcesses : rl::Actors::kThreads);
  };
  return lead_training(flags, config, showing, train_one, out);
}

int evaluate_run(const RlFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.path.empty(), "rl evaluate: the run directory is missing");
  const rl::RlConfig given = settings_of_run(flags);
  const rl::SavedPolicy saved = rl::load_policy(flags.path);
  const rl::Evaluation result =
      rl::evaluate_policy(saved.config.env, saved.make,
                          {.episodes = given.eval_episodes,
                           .epsilon = given.eval_epsilon,
                           .seed = static_cast<uint64_t>(given.seed) + 2000003});
  out << report::render(evaluation_document(saved.config, result), flags.format);
  return 0;
}

// By the end of the name: a moving picture, a sheet, or a folder of pictures.
void write_pictures(const std::string& to, std::span<const data::Image> pictures, int64_t frames) {
  if (to.ends_with(".gif")) {
    constexpr int kHundredths = 5;
    write_file(to, data::encode_gif(pictures, kHundredths));
  } else if (to.ends_with(".png")) {
    write_file(to, data::encode_png(rl::contact_sheet(pictures, frames)));
  } else {
    std::filesystem::create_directories(to);
    for (size_t i = 0; i < pictures.size(); ++i) {
      write_file(std::filesystem::path(to) / fmt::format("step-{:05}.png", i),
                 data::encode_png(pictures[i]));
    }
  }
}

int play_run(const RlFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.path.empty(), "rl play: the run directory is missing");
  const rl::RlConfig given = settings_of_run(flags);
  const rl::SavedPolicy saved = rl::load_policy(flags.path);
  const rl::PlayedEpisode episode =
      rl::play_episode(saved.config.env, saved.make,
                       {.seed = static_cast<uint64_t>(given.seed), .epsilon = given.eval_epsilon});
  const std::vector<data::Image> pictures = rl::draw_episode(saved.config.env, episode);
  const std::string to =
      flags.out.empty() ? (std::filesystem::path(flags.path) / "episode.gif").string() : flags.out;
  write_pictures(to, pictures, flags.frames);
  out << report::render(
      episode_document(saved.config, episode, to, rl::contact_sheet(pictures, flags.frames)),
      flags.format);
  return 0;
}

int bench_parts(const RlFlags& flags, std::ostream& out) {
  const rl::RlConfig config = resolve_config(flags);
  TY_REQUIRE(flags.seconds > 0 && flags.seconds <= kLongestBench,
             "--seconds is {}, expected above 0 and up to {}", flags.seconds, kLongestBench);
  out << report::render(bench_document(config, rl::bench_agent(config, {.seconds = flags.seconds})),
                        flags.format);
  return 0;
}

int show_priorities(const RlFlags& flags, std::ostream& out) {
  const rl::RlConfig config = resolve_config(flags);
  out << report::render(priorities_document(flags.errors, config.alpha, config.beta), flags.format);
  return 0;
}

int list_all(const RlFlags& flags, std::ostream& out) {
  out << report::render(environments_document(), flags.format);
  return 0;
}

struct RlAction {
  const char* name;
  int (*run)(const RlFlags&, std::ostream&);
  bool takes_path = false;
};
constexpr RlAction kActions[] = {{"list", list_all},
                                 {"train", train_agents},
                                 {"play", play_run, true},
                                 {"evaluate", evaluate_run, true},
                                 {"bench", bench_parts},
                                 {"priorities", show_priorities},
                                 {"replay", replay_recordings, true}};

int rl_command(const RlFlags& flags, std::ostream& out) {
  // What rl train starts; not for people.
  if (flags.action == "actor") {
    rl::run_actor_process();
    return 0;
  }
  std::vector<std::string> names;
  for (const RlAction& action : kActions) {
    if (flags.action == action.name) {
      TY_REQUIRE(action.takes_path || flags.path.empty(), "rl {} takes no PATH, got '{}'",
                 action.name, flags.path);
      return action.run(flags, out);
    }
    names.emplace_back(action.name);
  }
  throw_error("rl: '{}' is not one of {}.{}", flags.action, join(names, ", "),
              did_you_mean(flags.action, names));
}

// Playing and judging take the network and the environment of the run.
std::vector<Args::OwnFlags> own_flags_of(const RlSettingFlags& settings) {
  std::vector<Args::OwnFlags> table = {
      {{"train", "bench", "play", "evaluate"}, {"seed", "eval-epsilon"}},
      {{"train", "bench", "evaluate"}, {"eval-episodes"}},
      {{"train", "bench", "play", "evaluate"}, {"allow-exec"}},
      {{"train"}, {"name", "seeds", "ranks", "quiet"}},
      {{"play"}, {"out", "frames"}},
      {{"bench"}, {"seconds"}},
      {{"priorities"}, {"errors"}},
      {{"train", "bench", "priorities"}, {"alpha", "beta"}},
      {{"train", "bench"}, {"config", "runs-dir", "resume"}}};
  for (const std::string& flag : settings.flags()) {
    const bool has_place = std::ranges::any_of(table, [&](const Args::OwnFlags& own) {
      return std::ranges::find(own.flags, flag) != own.flags.end();
    });
    if (!has_place) table.back().flags.push_back(flag);
  }
  return table;
}

Runner setup_rl(Args& args) {
  auto flags = std::make_shared<RlFlags>();
  args.positional("ACTION", flags->action,
                  "list, train, play, evaluate, bench, priorities or replay");
  args.optional_positional(
      "PATH", flags->path,
      "play, evaluate: a run directory; replay: a folder of recordings, or one");
  flags->settings.declare(args);
  args.option("--config", flags->config_file,
              "read settings from this YAML file; flags override it");
  args.option("--runs-dir", flags->root, "the folder of run directories");
  args.option("--name", flags->name,
              "name of the run directory (default: from agent, environment and time)");
  args.option("--resume", flags->resume, "train: resume the run of this name or path");
  args.option("--seeds", flags->seeds, "train: a run for each of these seeds", at_least(0));
  args.choice("--ranks", flags->ranks, {"processes", "threads"},
              "how actors and learners run on this host");
  args.option("--out", flags->out,
              "play: a .gif, a .png of some steps, or a folder of pictures (default: episode.gif "
              "in the run)");
  args.option("--frames", flags->frames, "play: pictures on a sheet", at_least(1));
  args.option("--seconds", flags->seconds, "bench: seconds for each part");
  args.option("--errors", flags->errors, "priorities: TD errors of some transitions");
  args.flag("--quiet", flags->quiet, "print no progress");
  args.flag("--allow-exec", flags->allow_exec,
            "allow exec:COMMAND in a run or settings file to start its program");
  args.own_flags([flags] { return flags->action; }, own_flags_of(flags->settings));
  args.format(flags->format);
  return [flags](std::ostream& out) { return rl_command(*flags, out); };
}

}  // namespace

extern const Command kRl = {
    .name = "rl",
    .group = "Train",
    .summary = "Reinforcement learning: from Q-learning in a table to distributed replay",
    .examples =
        "  trainyard rl list\n"
        "  trainyard rl train --env CartPole-v1 --agent dqn\n"
        "  trainyard rl train --env breakout --agent per --steps 1000000 --seeds 1,2,3\n"
        "  trainyard rl train --env CliffWalking-v1 --agent q-learning --json\n"
        "  trainyard rl train --env breakout --agent apex --actors 4\n"
        "  trainyard rl train --env cartpole --agent gorila --learners 2 --ranks threads\n"
        "  trainyard rl evaluate runs/my-run --eval-episodes 1000\n"
        "  trainyard rl play runs/my-run --out episode.gif\n"
        "  trainyard rl evaluate runs/my-game --allow-exec\n"
        "  trainyard rl bench --env CartPole-v1 --hidden 256,256 --json\n"
        "  trainyard rl train --env AccessControl-v1 --agent differential\n"
        "  trainyard rl priorities --errors 2,1,0.5 --alpha 0.7\n"
        "  trainyard rl replay recordings --json\n",
    .setup = setup_rl,
};

}  // namespace trainyard::cli
