// Public data sets and weights: where they lie, how their files are told from damaged ones, and how
// they come here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/embedded_file.h"

namespace trainyard::cli {

// catalog/public
std::span<const EmbeddedFile> embedded_files();

struct PublicFile {
  std::string name = {};
  int64_t bytes = 0;        // 0: not known
  std::string md5 = {};     // empty: not known
  std::string sha256 = {};  // empty: not known; fewer than 64 digits: how it begins
  bool unpack = false;
};

struct PublicSet {
  std::string name = {};
  std::string about = {};
  std::string from = {};       // the URL above its files, with a slash at the end
  std::string pictures = {};   // of sets whose pictures are files of their own: the same of these
  std::string checksums = {};  // who says them
  std::vector<PublicFile> files = {};
  std::string use = {};  // what a user writes next

  // `use` with the folder in it.
  std::string use_in(const std::filesystem::path& folder) const;
};

// The sets of a kind, "data" or "weights", of a file in the form of catalog/public/files.yaml; of
// the program's own if `file` is empty.
std::vector<PublicSet> public_sets(std::string_view kind, const std::string& file);

// Where its files lie now: at `mirror` if that is not empty, under the same names.
void use_mirror(PublicSet& set, const std::string& mirror);

// What a file was checked by: "MD5 …, as expected", or "SHA-256 … (unverified: …)". Throws Error if
// it is another file.
std::string checked_digest(const PublicFile& file, const std::filesystem::path& path);

// The file below `folder`: checked if it is there, else brought and checked. Returns what
// checked_digest() says. Throws Failure with what to put where by hand if it cannot be had.
std::string bring_file(const PublicSet& set, const PublicFile& file,
                       const std::filesystem::path& folder);

// How a file can be had by hand, in a message.
std::string by_hand_text(const PublicSet& set, const PublicFile& file,
                         const std::filesystem::path& folder);

}  // namespace trainyard::cli
