#include "runs/run_directory.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

#include <fmt/chrono.h>

#include "base/error.h"
#include "base/file.h"
#include "base/machine_facts.h"
#include "base/text.h"

namespace trainyard::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMachineFile = "machine.json";

// "data/cifar-10/" -> "cifar-10"; characters that a shell or a file system minds become '-'.
std::string plain(std::string_view name) {
  fs::path path(name);
  if (path.filename().empty()) path = path.parent_path();
  std::string text = path.extension() == ".onnx" ? path.stem() : path.filename();
  for (char& c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '_') c = '-';
  }
  return text;
}

std::vector<std::string> runs_under(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator at(root, problem), end; !problem && at != end;
       at.increment(problem)) {
    if (fs::exists(at->path() / "config.yaml", problem)) {
      names.push_back(at->path().filename().string());
    }
  }
  return names;
}

[[noreturn]] void fail_to_create(const fs::path& path, const std::error_code& problem) {
  throw_failure("{}: the run directory cannot be made: {}", path.string(), problem.message());
}

// False if it is there already.
bool make_folder(const fs::path& path) {
  std::error_code problem;
  const bool made = fs::create_directory(path, problem);
  if (problem) fail_to_create(path, problem);
  return made;
}

void make_root(const fs::path& root) {
  std::error_code problem;
  fs::create_directories(root, problem);
  if (problem) fail_to_create(root, problem);
}

// model-data-date-time.
std::string default_run_name(std::string_view model, std::string_view data) {
  return fmt::format("{}-{}-{:%Y%m%d-%H%M%S}", plain(model), plain(data),
                     fmt::localtime(std::time(nullptr)));
}

// A number is added where the name is taken.
fs::path make_default_folder(const fs::path& root, std::string_view model, std::string_view data) {
  make_root(root);
  const std::string base = default_run_name(model, data);
  fs::path path = root / base;
  for (int number = 2; !make_folder(path); ++number) {
    path = root / fmt::format("{}-{}", base, number);
  }
  return path;
}

// Empty, or left by a run that could not write its settings.
bool never_began(const fs::path& path) {
  return std::all_of(
      fs::directory_iterator(path), fs::directory_iterator(),
      [](const fs::directory_entry& entry) { return entry.path().filename() == kMachineFile; });
}

// A run goes on with its files, and cuts what a crash has left. A link in the folder of somebody
// else would have that done to a file of the user.
void require_own_files(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    TY_REQUIRE(!entry.is_symlink() || entry.is_directory(),
               "{}: is a link; a run that is resumed writes its own files alone",
               entry.path().string());
  }
}

}  // namespace

void require_plain_name(std::string_view name) {
  TY_REQUIRE(name.find('/') == std::string_view::npos && name != "." && name != "..",
             "'{}' is no name for a run: expected a plain folder name", name);
}

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  TY_REQUIRE(fd_ >= 0, "{}: cannot be opened: {}", path_.string(), std::strerror(errno));
  // The lock is of the process and ends with it. File systems without locks go unguarded.
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd_);
    throw_error("{}: another process is writing this run; stop it first", path_.string());
  }
}

RunDirectory::~RunDirectory() {
  ::close(fd_);
}

RunDirectory RunDirectory::create(const fs::path& root, std::string_view name,
                                  std::string_view model, std::string_view data) {
  require_plain_name(name);
  const fs::path path = name.empty() ? make_default_folder(root, model, data) : root / name;
  if (!name.empty()) {
    make_root(root);
    const bool usable = make_folder(path) || never_began(path);
    TY_REQUIRE(usable || !fs::exists(path / "config.yaml"),
               "{}: there is a run of this name already; give another, or resume it: `resume` "
               "{}",
               path.string(), path.string());
    TY_REQUIRE(usable, "{}: there are files in this folder, but no run; give another name",
               path.string());
  }
  write_file(path / kMachineFile, machine_facts().dump() + "\n");
  return RunDirectory(path);
}

ReservedName::ReservedName(const fs::path& root, std::string_view model, std::string_view data)
    : path_(make_default_folder(root, model, data)) {}

ReservedName::~ReservedName() {
  // Only an empty folder goes.
  std::error_code used;
  fs::remove(path_, used);
}

RunDirectory RunDirectory::resume(const fs::path& root, std::string_view name_or_path) {
  std::error_code ignored;
  for (const fs::path& path : {fs::path(name_or_path), root / name_or_path}) {
    if (!name_or_path.empty() && fs::exists(path / "config.yaml", ignored)) {
      require_own_files(path);
      return RunDirectory(path);
    }
  }
  throw_error("'{}' is no run: there is no config.yaml in it, nor in {}.{}", name_or_path,
              (root / name_or_path).string(), did_you_mean(name_or_path, runs_under(root)));
}

std::string did_you_mean_run(const fs::path& missing) {
  const fs::path path = missing.has_filename() ? missing : missing.parent_path();
  const fs::path beside = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return did_you_mean(path.filename().string(), runs_under(beside));
}

}  // namespace trainyard::runs
