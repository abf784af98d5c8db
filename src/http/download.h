// Files of others, by http and https.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace trainyard::serve {

// Of a file that is on its way: bytes that are there, and all of them (0: the server did not say).
using DownloadProgress = std::function<void(int64_t done, int64_t all)>;

// Brings what `url` names into `file`. It grows as FILE.part, with which a later call goes on if
// the server still has the same; `file` is there when it is whole. Follows five redirects, never
// from https to http; certificates are checked against those that the system trusts. False if the
// server says that there is no such file. Throws Error for what is no such URL, Failure with the
// host and what happened.
bool download(const std::string& url, const std::filesystem::path& file,
              const DownloadProgress& progress = {});

}  // namespace trainyard::serve
