// The table of commands, in the order that help shows them.
#include "cli/command.h"

namespace trainyard::cli {

extern const Command kAnalyze;
extern const Command kCheck;
extern const Command kExport;
extern const Command kModels;
extern const Command kReceptiveField;
extern const Command kVersion;

namespace {

constexpr const Command* kCommands[] = {
    &kModels, &kAnalyze, &kReceptiveField, &kExport, &kCheck, &kVersion,
};

}  // namespace

std::span<const Command* const> all_commands() {
  return kCommands;
}

}  // namespace trainyard::cli
