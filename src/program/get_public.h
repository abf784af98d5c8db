// `data get` and `weights get`.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "program/args.h"

namespace trainyard::cli {

struct GetFlags {
  std::string kind = {};  // "data" or "weights"
  std::string name = {};  // empty: what there is
  std::string to = {};    // empty: a folder of the kind's name
  std::string from = {};  // a mirror
  std::string files = {};
  std::vector<std::string> classes = {};
  int64_t most = 0;
};

// Declares --to, --from and --files.
void declare_get(Args& args, GetFlags& flags);
// Names of these flags, for Args::own_flags.
std::vector<std::string> get_flag_names();

int get_public(const GetFlags& flags, const report::Format& format, std::ostream& out);

}  // namespace trainyard::cli
