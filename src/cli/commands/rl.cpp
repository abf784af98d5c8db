// `trainyard rl`: reinforcement learning.
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/rl_reports.h"
#include "rl/env/recording.h"

namespace trainyard::cli {
namespace {

struct RlFlags {
  std::string action;
  std::string path;
  report::Format format = report::Format::kText;
};

int replay_recordings(const RlFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.path.empty(), "rl replay: the folder or file of recordings is missing");
  const std::vector<rl::RecordingCheck> checks = rl::check_recordings(flags.path);
  const report::Document document = recordings_document(checks);
  out << report::render(document, flags.format);
  return document.data.at("mismatches").as_int() == 0 ? 0 : 1;
}

int rl_command(const RlFlags& flags, std::ostream& out) {
  static const std::vector<std::string> kActions = {"list", "replay"};
  if (flags.action == "list") {
    out << report::render(environments_document(), flags.format);
    return 0;
  }
  if (flags.action == "replay") return replay_recordings(flags, out);
  throw_error("rl: '{}' is not one of {}.{}", flags.action, join(kActions, ", "),
              did_you_mean(flags.action, kActions));
}

Runner setup_rl(Args& args) {
  auto flags = std::make_shared<RlFlags>();
  args.positional("ACTION", flags->action, "list or replay");
  args.optional_positional("PATH", flags->path, "replay: a folder of recordings, or one");
  args.format(flags->format);
  return [flags](std::ostream& out) { return rl_command(*flags, out); };
}

}  // namespace

extern const Command kRl = {
    .name = "rl",
    .group = "Train",
    .summary = "Reinforcement learning: environments and recordings of them",
    .examples =
        "  trainyard rl list\n"
        "  trainyard rl replay recordings --json\n",
    .setup = setup_rl,
};

}  // namespace trainyard::cli
