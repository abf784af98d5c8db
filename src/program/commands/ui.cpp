// `trainyard ui [DIR…]`: run directories in a browser.
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "program/command.h"
#include "program/server_token.h"
#include "program/ui_hooks.h"
#include "ui/server.h"

namespace trainyard::cli {
namespace {

// Views that are to be saved, with their curves and pictures.
constexpr size_t kMostBody = 32 << 20;

struct UiFlags {
  std::vector<std::string> folders;
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  std::string token_file;
  bool insecure = false;
  std::string allowed_hosts;
  std::string device = "this";
  std::optional<double> price;
  std::string server;
};

int ui_command(const UiFlags& flags, std::ostream& out) {
  ui::ServerOptions options;
  options.service.folders = {flags.folders.begin(), flags.folders.end()};
  if (flags.folders.empty()) options.service.folders = {"runs"};
  options.service.token = read_server_token(flags.token_file);
  require_token_elsewhere(flags.host, options.service.token, flags.insecure);
  if (!flags.allowed_hosts.empty()) options.service.allowed_hosts = split(flags.allowed_hosts, ',');
  options.service.price = flags.price;
  options.service.hooks = ui_hooks({options.service.folders.front(), flags.device, flags.server});
  options.http.host = flags.host;
  options.http.port = static_cast<uint16_t>(flags.port);
  options.http.threads = 1;
  options.http.limits.body_bytes = kMostBody;
  return ui::run_server(options, out);
}

Runner setup_ui(Args& args) {
  auto flags = std::make_shared<UiFlags>();
  args.optional_positionals("DIR", flags->folders, "folders of runs, or runs themselves (runs)");
  args.option("--host", flags->host, "address to listen on");
  args.option("--port", flags->port, "port to listen on; 0: any free port", between(0, 65'535));
  args.option("--token", flags->token_file,
              "file with the token that the page asks for (or the variable TRAINYARD_TOKEN)");
  args.flag("--insecure", flags->insecure, "let other machines connect without a token");
  args.option("--allowed-host", flags->allowed_hosts,
              "host names that browsers may use without a token, as a.example,b.example, in "
              "addition to the server's own name and addresses; *: any");
  args.option("--device", flags->device,
              "device (see 'trainyard devices') that steps are predicted for (default: this "
              "machine, once 'trainyard calibrate' has measured it)");
  args.option("--price", flags->price, "dollars per hour of the machine that trained", at_least(0));
  args.option("--server", flags->server,
              "a server of 'trainyard serve' to watch, as "
              "http://127.0.0.1:8000");
  return [flags](std::ostream& out) { return ui_command(*flags, out); };
}

}  // namespace

extern const Command kUi = {
    .name = "ui",
    .group = "Start here",
    .summary = "Watch and compare training runs in a browser",
    .examples =
        "  trainyard ui\n"
        "  trainyard ui runs /mnt/shared/runs --port 8081\n"
        "  trainyard ui runs/small-batch --port 0\n"
        "  trainyard ui runs --price 1.20 --server http://127.0.0.1:8000\n"
        "  trainyard ui runs --host 0.0.0.0 --token token.txt\n",
    .setup = setup_ui,
};

}  // namespace trainyard::cli
