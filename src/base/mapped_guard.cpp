#include "base/mapped_guard.h"

#include <array>
#include <csignal>
#include <mutex>
#include <unistd.h>

#include <fmt/core.h>

#include "base/printable.h"

namespace trainyard {
namespace {

// Files mapped at the same time; those beyond end the process without a message.
constexpr size_t kMostWatched = 1024;

std::array<std::atomic<const MappedGuard*>, kMostWatched> watched{};
struct sigaction former_action {};

void on_lost_page(int signal, siginfo_t* info, void* context) {
  for (const auto& place : watched) {
    const MappedGuard* guard = place.load();
    if (guard == nullptr || !guard->covers(info->si_addr)) continue;
    const std::string& text = guard->message();
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(1);
  }
  if ((former_action.sa_flags & SA_SIGINFO) != 0 && former_action.sa_sigaction != nullptr) {
    return former_action.sa_sigaction(signal, info, context);
  }
  // The instruction is tried again, and ends the process as it would have without us.
  ::sigaction(SIGBUS, &former_action, nullptr);
}

void set_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_sigaction = on_lost_page;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &former_action);
  });
}

}  // namespace

MappedGuard::MappedGuard(const void* data, size_t bytes, const std::filesystem::path& path)
    : data_(static_cast<const std::byte*>(data)),
      bytes_(bytes),
      message_(fmt::format("trainyard: {}: became shorter, or could not be read, while it was in "
                           "use\n",
                           printable(path.string()))) {
  set_handler();
  for (auto& place : watched) {
    const MappedGuard* none = nullptr;
    if (!place.compare_exchange_strong(none, this)) continue;
    place_ = &place;
    return;
  }
}

MappedGuard::~MappedGuard() {
  if (place_ != nullptr) place_->store(nullptr);
}

}  // namespace trainyard
