#include "program/description.h"

#include "program/command.h"
#include "program/version.h"

namespace trainyard::cli {

Json description() {
  Json commands = Json::array();
  for (const Command* command : all_commands()) {
    Args args(command->name, command->summary, command->examples);
    command->setup(args);
    commands.push_back(Json::object({{"name", command->name},
                                     {"group", command->group},
                                     {"summary", command->summary},
                                     {"examples", command->examples},
                                     {"arguments", args.description()}}));
  }
  return Json::object(
      {{"program", "trainyard"}, {"version", kVersionText}, {"commands", commands}});
}

}  // namespace trainyard::cli
