#include "program/public_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "data/tar.h"
#include "http/digest.h"
#include "http/download.h"
#include "program/progress_line.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

// Digits of a digest, as many as it has or, for the beginning of one, at least these.
std::string digest_digits(const YamlView& file, std::string_view key, size_t least, size_t most) {
  const auto view = file.find(key);
  if (!view) return {};
  const std::string digits = view->text();
  const bool hexadecimal = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hexadecimal || digits.size() < least || digits.size() > most) {
    view->fail(fmt::format("'{}' are no {} to {} hexadecimal digits", digits, least, most));
  }
  return digits;
}

PublicFile read_file_entry(const YamlView& view) {
  view.only({"name", "bytes", "md5", "sha256", "unpack"});
  PublicFile file{.name = view.at("name").text(),
                  .bytes = view.count_or("bytes", 0, 1, int64_t{1} << 44),
                  .md5 = digest_digits(view, "md5", 32, 32),
                  .sha256 = digest_digits(view, "sha256", 8, 64)};
  if (file.name.empty() || file.name.front() == '.' ||
      file.name.find_first_of("/\\") != std::string::npos) {
    view.fail(fmt::format("'{}' is no name of a file", file.name));
  }
  if (const auto unpack = view.find("unpack")) file.unpack = unpack->boolean();
  return file;
}

// URLs are joined with names, so they end with a slash.
std::string folder_url(const std::string& url) {
  return url.empty() || url.ends_with('/') ? url : url + "/";
}

PublicSet read_set(const std::string& name, const YamlView& view) {
  view.only({"about", "from", "pictures", "checksums", "files", "use"});
  PublicSet set{.name = name,
                .about = view.text_or("about", ""),
                .from = folder_url(view.at("from").text()),
                .pictures = folder_url(view.text_or("pictures", "")),
                .checksums = view.text_or("checksums", ""),
                .files = {},
                .use = view.text_or("use", "")};
  for (const YamlView& file : view.at("files").items()) set.files.push_back(read_file_entry(file));
  return set;
}

std::string size_text(const PublicFile& file) {
  return file.bytes > 0 ? with_commas(file.bytes) + " bytes" : "size not known";
}

std::string digest_text(const PublicFile& file) {
  if (!file.sha256.empty()) {
    return fmt::format("SHA-256 {}{}", file.sha256, file.sha256.size() < 64 ? "…" : "");
  }
  return file.md5.empty() ? "no checksum known" : "MD5 " + file.md5;
}

}  // namespace

std::string PublicSet::use_in(const fs::path& folder) const {
  constexpr std::string_view kFolder = "{to}";
  std::string text = use;
  for (size_t at = text.find(kFolder); at != std::string::npos; at = text.find(kFolder)) {
    text.replace(at, kFolder.size(), folder.string());
  }
  return text;
}

std::vector<PublicSet> public_sets(std::string_view kind, const std::string& file) {
  constexpr std::string_view kOwn = "files.yaml";
  const auto document =
      file.empty() ? YamlDocument::parse(embedded_text(embedded_files(), kOwn), std::string(kOwn))
                   : YamlDocument::parse_without_aliases(read_file(file), file);
  document->root().only({"data", "weights"});
  std::vector<PublicSet> sets;
  const auto own = document->root().find(kind);
  if (!own) return sets;
  for (const auto& [name, view] : own->members()) sets.push_back(read_set(name, view));
  return sets;
}

void use_mirror(PublicSet& set, const std::string& mirror) {
  if (mirror.empty()) return;
  set.from = folder_url(mirror);
  if (!set.pictures.empty()) set.pictures = set.from;
}

std::string checked_digest(const PublicFile& file, const fs::path& path) {
  const auto bytes = static_cast<int64_t>(fs::file_size(path));
  TY_REQUIRE(file.bytes == 0 || bytes == file.bytes,
             "{} has {} bytes, the published file has {}; move it away to have it brought anew",
             path.string(), with_commas(bytes), with_commas(file.bytes));
  const bool by_md5 = file.sha256.empty() && !file.md5.empty();
  const std::string digest =
      serve::file_digest(path, by_md5 ? serve::DigestKind::kMd5 : serve::DigestKind::kSha256);
  const std::string kind = by_md5 ? "MD5" : "SHA-256";
  if (file.md5.empty() && file.sha256.empty()) {
    return fmt::format("{} {}; unverified, no checksum of it is known", kind, digest);
  }
  const std::string& expected = by_md5 ? file.md5 : file.sha256;
  TY_REQUIRE(digest.starts_with(expected),
             "{}: its {} is {}, that of the published file is {}{}; it is damaged or another "
             "file; move it away to have it brought anew",
             path.string(), kind, digest, expected, expected.size() < digest.size() ? "…" : "");
  return expected.size() < digest.size()
             ? fmt::format("{} {}, begins as expected with {}", kind, digest, expected)
             : fmt::format("{} {}, as expected", kind, digest);
}

std::string by_hand_text(const PublicSet& set, const PublicFile& file, const fs::path& folder) {
  return fmt::format("By hand: put {}{} ({}, {}) into {} and run this again.", set.from, file.name,
                     size_text(file), digest_text(file), fs::absolute(folder).string());
}

std::string bring_file(const PublicSet& set, const PublicFile& file, const fs::path& folder) {
  const fs::path path = folder / file.name;
  if (!fs::exists(path)) {
    fs::create_directories(folder);
    try {
      ProgressLine line;
      const bool there =
          serve::download(set.from + file.name, path, [&](int64_t done, int64_t all) {
            if (all > 0) line.show(static_cast<double>(done) / static_cast<double>(all), file.name);
          });
      if (!there) throw_failure("{} is not there any more", set.from + file.name);
    } catch (const Failure& failure) {
      throw_failure("{} could not be brought: {}\n{}", file.name, failure.what(),
                    by_hand_text(set, file, folder));
    }
  }
  return checked_digest(file, path);
}

}  // namespace trainyard::cli
