// Takes from a thread, and the processes that it starts, the right to write elsewhere.
#pragma once

#include <filesystem>
#include <span>

namespace trainyard {

// From now on the calling thread, and processes and threads that it starts, can make, change and
// remove files below these folders alone, which must exist; reading stays as it is. There is no way
// back. False, and nothing has changed, where the system has no such means (Landlock of Linux).
[[nodiscard]] bool confine_writes(std::span<const std::filesystem::path> folders);

}  // namespace trainyard
