#include "base/confine.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

namespace trainyard {
namespace {

// What the first version of Landlock can refuse of writing.
constexpr uint64_t kWrites = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                             LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                             LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                             LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                             LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;
// Later versions, by their bits: older headers have no names for them.
constexpr uint64_t kMoveBetweenFolders = 1U << 13U;
constexpr uint64_t kTruncate = 1U << 14U;

uint64_t writes_of(int64_t version) {
  return kWrites | (version >= 2 ? kMoveBetweenFolders : 0) | (version >= 3 ? kTruncate : 0);
}

class Descriptor {
 public:
  explicit Descriptor(int64_t fd) : fd_(static_cast<int>(fd)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

void allow_below(const Descriptor& rules, const std::filesystem::path& folder, uint64_t writes) {
  const Descriptor place(open(folder.c_str(), O_PATH | O_CLOEXEC));
  if (place.get() < 0) throw_failure("{}: {}", folder.string(), std::strerror(errno));
  const landlock_path_beneath_attr below{.allowed_access = writes, .parent_fd = place.get()};
  if (syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &below, 0) != 0) {
    throw_failure("{}: cannot be confined to: {}", folder.string(), std::strerror(errno));
  }
}

}  // namespace

bool confine_writes(std::span<const std::filesystem::path> folders) {
  const int64_t version =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return false;
  landlock_ruleset_attr handled{};
  handled.handled_access_fs = writes_of(version);
  const Descriptor rules(syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0));
  if (rules.get() < 0) return false;
  for (const std::filesystem::path& folder : folders) {
    allow_below(rules, folder, writes_of(version));
  }
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         syscall(SYS_landlock_restrict_self, rules.get(), 0) == 0;
}

}  // namespace trainyard
