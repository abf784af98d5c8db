// Digests by which published files are told from damaged ones.
#pragma once

#include <filesystem>
#include <string>

namespace trainyard::serve {

enum class DigestKind { kMd5, kSha256 };

// In hexadecimal digits, small letters. Throws Error if the file cannot be read.
std::string file_digest(const std::filesystem::path& file, DigestKind kind);

}  // namespace trainyard::serve
