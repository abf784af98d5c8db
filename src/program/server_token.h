// Who may ask a server of this program.
#pragma once

#include <string>

namespace trainyard::cli {

// From a file or, where none is named, from the variable TRAINYARD_TOKEN: every user of a machine
// can read command lines. Throws Error for a text that could not stand in a header.
std::string read_server_token(const std::string& file);

// Everybody on the network could use a server that listens elsewhere than on this machine, so that
// needs a token or a word. Throws Error.
void require_token_elsewhere(const std::string& host, const std::string& token, bool insecure);

}  // namespace trainyard::cli
