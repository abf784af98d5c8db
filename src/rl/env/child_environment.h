// An environment that is a program of the user's own. One line each way, as JSON, over its stdin
// and stdout:
//
//   (it begins)                  {"shape": [4], "actions": 2, "name": "…", "time_limit": 500}
//   {"reset": SEED}              {"observation": [ … ]}
//   {"step": ACTION}             {"observation": [ … ], "reward": 1, "terminated": false,
//                                 "truncated": false}
//
// SEED is a number of its own for each episode. docs/adding-an-environment.md has an example.
#pragma once

#include <memory>
#include <string_view>

#include "rl/env/environment.h"

namespace trainyard::rl {

// How long an answer may take.
inline constexpr double kChildSeconds = 10;

// A process per copy. Throws EnvironmentFailure if it cannot be started, dies, is silent for too
// long or says what it should not; the message has the line.
std::unique_ptr<Environment> start_children(std::string_view command, int64_t copies,
                                            double seconds = kChildSeconds);

}  // namespace trainyard::rl
