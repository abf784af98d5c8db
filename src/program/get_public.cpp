#include "program/get_public.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/tar.h"
#include "http/download.h"
#include "program/progress_line.h"
#include "program/public_files.h"
#include "report/document.h"

namespace trainyard::cli {
namespace {

// Some classes of Open Images, in the layout of open_images_downloader.py of pytorch-ssd.
struct OpenImagesSplit {
  std::string name = {};  // train, validation, test
  int64_t boxes = 0;
  int64_t pictures = 0;
  int64_t missing = 0;  // that are not there any more; their boxes are left out
};

namespace fs = std::filesystem;

constexpr const char* kOpenImagesSplits[] = {"train", "validation", "test"};
constexpr size_t kPicturesAtOnce = 8;

// Label to name, of the classes asked for.
std::map<std::string, std::string> labels_of(const fs::path& descriptions,
                                             const std::vector<std::string>& classes) {
  const CsvTable table =
      CsvTable::parse("label,name\n" + read_file(descriptions), descriptions.string());
  std::map<std::string, std::string> labels;
  std::vector<std::string> known;
  for (size_t i = 0; i < table.size(); ++i) {
    known.push_back(table.row(i).text("name"));
    if (std::find(classes.begin(), classes.end(), known.back()) != classes.end()) {
      labels[table.row(i).text("label")] = known.back();
    }
  }
  for (const std::string& name : classes) {
    TY_REQUIRE(std::find(known.begin(), known.end(), name) != known.end(),
               "Open Images has no class '{}' with boxes.{}", name, did_you_mean(name, known));
  }
  return labels;
}

struct Boxes {
  std::string heading;
  std::vector<std::pair<std::string, std::string>> lines;  // picture, line with label and name
  std::set<std::string> pictures;
};

size_t column_of(const std::vector<std::string>& columns, const std::string& name,
                 const fs::path& file) {
  const auto at = std::find(columns.begin(), columns.end(), name);
  TY_REQUIRE(at != columns.end(), "{} has no column {}", file.string(), name);
  return static_cast<size_t>(at - columns.begin());
}

// Line by line: the file of the training split has more than a gigabyte.
Boxes select_boxes(const fs::path& file, const std::map<std::string, std::string>& labels,
                   int64_t most) {
  std::ifstream in(file);
  std::string line;
  TY_REQUIRE(static_cast<bool>(std::getline(in, line)), "{} is empty", file.string());
  if (line.ends_with('\r')) line.pop_back();
  const std::vector<std::string> columns = split(line, ',');
  const size_t image = column_of(columns, "ImageID", file);
  const size_t label = column_of(columns, "LabelName", file);
  const size_t drawing = column_of(columns, "IsDepiction", file);
  Boxes boxes{.heading = line + ",id,ClassName", .lines = {}, .pictures = {}};
  std::map<std::string, std::set<std::string>> of_class;
  for (int64_t number = 2; std::getline(in, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    const std::vector<std::string> cells = split(line, ',');
    TY_REQUIRE(cells.size() == columns.size(), "{}, line {}: {} fields, expected {}", file.string(),
               number, cells.size(), columns.size());
    const auto found = labels.find(cells[label]);
    if (found == labels.end() || cells[drawing] == "1") continue;
    const std::string& id = cells[image];
    TY_REQUIRE(!id.empty() && id.find_first_not_of("0123456789abcdef") == std::string::npos,
               "{}, line {}: '{}' is no name of a picture", file.string(), number, id);
    std::set<std::string>& seen = of_class[found->second];
    const bool room = most == 0 || static_cast<int64_t>(seen.size()) < most;
    if (room) seen.insert(id);
    if (room) boxes.pictures.insert(id);
    boxes.lines.emplace_back(id, fmt::format("{},{},{}", line, found->first, found->second));
  }
  // With a limit, all boxes of the pictures that were chosen.
  std::erase_if(boxes.lines, [&](const auto& one) { return !boxes.pictures.contains(one.first); });
  return boxes;
}

// Those that the server does not have.
std::set<std::string> bring_pictures(const std::string& from, const fs::path& folder,
                                     const std::set<std::string>& ids) {
  fs::create_directories(folder);
  const std::vector<std::string> all(ids.begin(), ids.end());
  std::atomic<size_t> next{0};
  std::mutex guard;
  std::set<std::string> missing;
  std::exception_ptr problem;
  ProgressLine progress;
  const auto work = [&] {
    for (size_t i = next++; i < all.size(); i = next++) {
      const std::string file = all[i] + ".jpg";
      try {
        const bool there = fs::exists(folder / file) || serve::download(from + file, folder / file);
        const std::lock_guard lock(guard);
        if (!there) missing.insert(all[i]);
      } catch (...) {
        const std::lock_guard lock(guard);
        problem = std::current_exception();
        next = all.size();
      }
      const std::lock_guard lock(guard);
      progress.show(
          static_cast<double>(std::min(i + 1, all.size())) / static_cast<double>(all.size()),
          "pictures of " + folder.filename().string());
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < std::min(kPicturesAtOnce, all.size()); ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  if (problem) std::rethrow_exception(problem);
  return missing;
}

// Brings class-descriptions-boxable.csv, SPLIT-annotations-bbox.csv and the pictures with boxes of
// the classes, at most `most` of each class and split (0: all), and writes
// sub-SPLIT-annotations-bbox.csv. What is there is not brought again. Drawings are left out.
std::vector<OpenImagesSplit> bring_open_images(const PublicSet& set, const fs::path& folder,
                                               const std::vector<std::string>& classes,
                                               int64_t most) {
  const PublicFile descriptions{.name = "class-descriptions-boxable.csv"};
  bring_file(set, descriptions, folder);
  const auto labels = labels_of(folder / descriptions.name, classes);
  std::vector<OpenImagesSplit> splits;
  for (const std::string name : kOpenImagesSplits) {
    // Published in a folder of the split, kept beside each other.
    PublicSet at = set;
    at.from += name + "/";
    const PublicFile annotations{.name = name + "-annotations-bbox.csv"};
    bring_file(at, annotations, folder);
    Boxes boxes = select_boxes(folder / annotations.name, labels, most);
    std::set<std::string> missing;
    try {
      missing = bring_pictures(set.pictures + name + "/", folder / name, boxes.pictures);
    } catch (const Failure& failure) {
      throw_failure(
          "{}\nWhat has come is kept: run this again, or put the {} pictures of split {} as ID.jpg "
          "into {}.",
          failure.what(), boxes.pictures.size(), name, fs::absolute(folder / name).string());
    }
    AtomicFile out(folder / ("sub-" + annotations.name));
    out.write(boxes.heading + "\n");
    OpenImagesSplit split{.name = name};
    for (const auto& [id, line] : boxes.lines) {
      if (missing.contains(id)) continue;
      out.write(line + "\n");
      ++split.boxes;
    }
    out.commit();
    split.pictures = static_cast<int64_t>(boxes.pictures.size() - missing.size());
    split.missing = static_cast<int64_t>(missing.size());
    splits.push_back(split);
  }
  return splits;
}

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
