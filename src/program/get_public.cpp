#include "program/get_public.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/tar.h"
#include "program/open_images.h"
#include "program/public_files.h"
#include "report/document.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

int64_t known_bytes(const PublicSet& set) {
  int64_t bytes = 0;
  for (const PublicFile& file : set.files) {
    if (file.bytes == 0) return 0;
    bytes += file.bytes;
  }
  return bytes;
}

report::Document list_document(const GetFlags& flags, const std::vector<PublicSet>& sets) {
  report::Document document;
  report::Table table({{"name", report::Align::kLeft},
                       {"what", report::Align::kLeft, 70},
                       {"files"},
                       {"size"},
                       {"checked by", report::Align::kLeft, 40}});
  Json list = Json::array();
  for (const PublicSet& set : sets) {
    const int64_t bytes = known_bytes(set);
    table.add_row({set.name, set.about, fmt::format("{}", set.files.size()),
                   bytes > 0 ? report::bytes_cell(bytes) : report::Cell{"-"}, set.checksums});
    list.push_back(Json::object({{"name", set.name},
                                 {"about", set.about},
                                 {"from", set.from},
                                 {"bytes", bytes},
                                 {"checksums", set.checksums},
                                 {"use", set.use}}));
  }
  document.blocks.emplace_back(std::move(table));
  document.data = Json::object({{flags.kind, std::move(list)}});
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "`trainyard {} get NAME --to DIR` brings one; files that are put into DIR by hand "
      "are taken as they are, once their checksum is right.",
      flags.kind)});
  return document;
}

PublicSet set_named(const GetFlags& flags, const std::vector<PublicSet>& sets) {
  std::vector<std::string> names;
  for (const PublicSet& set : sets) {
    if (set.name == flags.name) return set;
    names.push_back(set.name);
  }
  throw_error("there is no public {} called '{}'; there are {}.{}",
              flags.kind == "data" ? "data set" : "file of weights", flags.name, join(names, ", "),
              did_you_mean(flags.name, names));
}

// The archive, and archives that were in it.
int64_t unpack_all(const fs::path& archive, const fs::path& folder) {
  const data::Unpacked outer = data::unpack_tar(archive, folder);
  int64_t files = outer.files;
  for (const fs::path& inner : outer.archives) {
    files += data::unpack_tar(inner, inner.parent_path()).files - 1;
    fs::remove(inner);  // its files are there now
  }
  return files;
}

void say(report::Document& document, std::string text) {
  document.blocks.emplace_back(report::Paragraph{std::move(text)});
}

void bring_files(const PublicSet& set, const fs::path& folder, report::Document& document) {
  Json files = Json::array();
  for (const PublicFile& file : set.files) {
    const std::string digest = bring_file(set, file, folder);
    std::string text = fmt::format("{}: {}", file.name, digest);
    Json entry = Json::object({{"file", (folder / file.name).string()}, {"digest", digest}});
    if (file.unpack) {
      const int64_t unpacked = unpack_all(folder / file.name, folder);
      text += fmt::format("; {} files unpacked", with_commas(unpacked));
      entry["unpacked"] = unpacked;
    }
    files.push_back(std::move(entry));
    say(document, std::move(text));
  }
  document.data["files"] = std::move(files);
}

void bring_classes(const GetFlags& flags, const PublicSet& set, const fs::path& folder,
                   report::Document& document) {
  TY_REQUIRE(!flags.classes.empty(), "say which classes, as --classes \"Handgun,Shotgun\"");
  Json splits = Json::array();
  for (const OpenImagesSplit& split : bring_open_images(set, folder, flags.classes, flags.most)) {
    say(document,
        fmt::format(
            "{}: {} pictures with {} boxes{}; unverified, no checksums are known", split.name,
            with_commas(split.pictures), with_commas(split.boxes),
            split.missing > 0 ? fmt::format(", {} are not there any more", split.missing) : ""));
    splits.push_back(Json::object({{"split", split.name},
                                   {"pictures", split.pictures},
                                   {"boxes", split.boxes},
                                   {"missing", split.missing}}));
  }
  document.data["splits"] = std::move(splits);
}

}  // namespace

void declare_get(Args& args, GetFlags& flags) {
  args.option("--to", flags.to, fmt::format("get: the folder ({})", flags.kind));
  args.option("--from", flags.from, "get: URL of a mirror that has the files under the same names");
  args.option("--files", flags.files,
              "get: a list of your own, in the form of catalog/public/files.yaml");
}

std::vector<std::string> get_flag_names() {
  return {"to", "from", "files"};
}

int get_public(const GetFlags& flags, const report::Format& format, std::ostream& out) {
  const std::vector<PublicSet> sets = public_sets(flags.kind, flags.files);
  if (flags.name.empty()) {
    out << report::render(list_document(flags, sets), format);
    return 0;
  }
  PublicSet set = set_named(flags, sets);
  use_mirror(set, flags.from);
  const bool by_class = !set.pictures.empty();
  TY_REQUIRE(by_class || (flags.classes.empty() && flags.most == 0),
             "--classes and --most are for sets that are brought by class; {} is brought whole",
             set.name);
  TY_REQUIRE(flags.most >= 0, "--most is {}, expected 0 (all) or more", flags.most);
  const fs::path folder = flags.to.empty() ? flags.kind : flags.to;
  report::Document document;
  document.data = Json::object({{"name", set.name}, {"folder", folder.string()}});
  if (by_class) {
    bring_classes(flags, set, folder, document);
  } else {
    bring_files(set, folder, document);
  }
  const std::string use = set.use_in(folder);
  document.data["use"] = use;
  if (!use.empty()) {
    say(document, flags.kind == "data"
                      ? fmt::format("Use it as --data {}", use)
                      : fmt::format("Use it as in: trainyard evaluate {} --data …", use));
  }
  out << report::render(document, format);
  return 0;
}

}  // namespace trainyard::cli
