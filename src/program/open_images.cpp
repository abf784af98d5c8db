#include "program/open_images.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "http/download.h"
#include "program/progress_line.h"

namespace trainyard::cli {
namespace {

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

}  // namespace

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

}  // namespace trainyard::cli
