// Whether somebody is working in a run directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/json.h"

namespace trainyard::ui {

enum class RunState : uint8_t { kRunning, kFinished, kStopped };
std::string_view name_of(RunState state);

// The folders and files of this machine that a process holds a lock on, by their inode. Looking
// takes no lock, which would be in the way of a run that is just being resumed.
std::set<uint64_t> locked_inodes();
// Of a text as /proc/locks has it, the processes by the inodes that they hold.
std::multimap<uint64_t, int64_t> parse_locks(std::string_view text);
// Of this machine; nothing: none holds that folder. What /proc/locks says is believed only of a
// process that has the folder open: other file systems have the same inode numbers.
std::optional<int64_t> process_that_holds(const std::filesystem::path& directory);
std::optional<int64_t> process_that_holds(const std::filesystem::path& directory,
                                          std::string_view locks);

// Running: a process of this machine holds the folder, or one of another machine has written there
// in the last seconds. Finished: the network that it ends with is there.
RunState state_of(const std::filesystem::path& directory, const Json& machine,
                  const std::set<uint64_t>& locked);

}  // namespace trainyard::ui
