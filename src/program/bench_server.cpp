#include "program/bench_server.h"

#include <csignal>

#include "base/error.h"

namespace trainyard::cli {
namespace {

std::vector<std::string> command_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {path_of_this_program(), "serve"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), {"--port", "0"});
  return command;
}

}  // namespace

BenchServer::BenchServer(const std::vector<std::string>& arguments)
    : process_(command_of(arguments), {.own_group = true}) {
  constexpr std::string_view kAddress = "serving on ";
  std::string text;
  // The last line that it says when it is ready.
  while (text.find("\npage ") == std::string::npos) {
    if (process_.read_some(text, 100)) continue;
    // It has said why.
    const int code = process_.wait();
    if (code == 2) throw_error("serve bench: there is no server to load");
    throw_failure("the server ended with {}: {}", code, text);
  }
  const size_t begin = text.find(kAddress) + kAddress.size();
  url_ = text.substr(begin, text.find('\n', begin) - begin);
}

BenchServer::~BenchServer() {
  process_.send(SIGTERM);
  process_.wait();
}

}  // namespace trainyard::cli
