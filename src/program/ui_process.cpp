#include "program/ui_process.h"

#include <csignal>
#include <iostream>
#include <thread>

#include "base/error.h"

namespace trainyard::cli {
namespace {

constexpr int kStartMs = 20'000;
constexpr int kTickMs = 100;

}  // namespace

UiProcess::UiProcess(const std::filesystem::path& runs) {
  std::filesystem::create_directories(runs);
  const std::vector<std::string> line = {"setpriv", "--pdeathsig", "TERM",   path_of_this_program(),
                                         "ui",      runs.string(), "--port", "0"};
  child_ = std::make_unique<ChildProcess>(line, ChildOptions{.own_group = true});
  std::string text;
  for (int waited = 0; waited < kStartMs; waited += kTickMs) {
    const bool lives = child_->read_some(text, kTickMs);
    const size_t page = text.find("page  ");
    const size_t end = page == std::string::npos ? page : text.find('\n', page);
    if (end != std::string::npos) {
      std::cerr << "trainyard: watch it at " + text.substr(page + 6, end - page - 6) + "\n";
      return;
    }
    if (!lives) break;
  }
  child_->send(SIGTERM);
  child_->wait();
  throw_failure("the page did not start; `trainyard ui {}` says why", runs.string());
}

UiProcess::~UiProcess() {
  child_->send(SIGTERM);
  child_->wait();
}

void start_apart(std::vector<std::string> words, const std::filesystem::path& log) {
  // A shell takes its output away, so that nobody needs to read it.
  std::vector<std::string> line = {"setsid", "sh", "-c", "exec \"$0\" \"$@\" > /dev/null",
                                   path_of_this_program()};
  line.insert(line.end(), words.begin(), words.end());
  auto child = std::make_shared<ChildProcess>(line, ChildOptions{.log = log, .own_group = true});
  std::thread([child] { child->wait(); }).detach();  // so that no zombie stays
}

}  // namespace trainyard::cli
