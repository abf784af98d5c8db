#include "program/server_token.h"

#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "base/file.h"

namespace trainyard::cli {

// Trailing line ends are dropped, as editors and echo add them. What could not stand in a header
// would lock everybody out.
std::string read_server_token(const std::string& file) {
  const char* const variable = std::getenv("TRAINYARD_TOKEN");
  std::string token = variable == nullptr ? "" : variable;
  if (!file.empty()) token = read_file(file, 4096);
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  const std::string origin = file.empty() ? "TRAINYARD_TOKEN" : "--token " + file;
  TY_REQUIRE(file.empty() || !token.empty(), "{}: the file is empty", origin);
  const auto lines = std::count(token.begin(), token.end(), '\n') + 1;
  TY_REQUIRE(lines == 1, "{}: found {} lines, expected one token alone", origin, lines);
  const auto odd =
      std::find_if(token.begin(), token.end(), [](char c) { return c <= ' ' || c > '~'; });
  TY_REQUIRE(odd == token.end(),
             "{}: character {} is a blank, a control character or not ASCII; expected a token of "
             "letters, digits and signs, as openssl rand -hex 32 makes",
             origin, odd - token.begin() + 1);
  return token;
}

void require_token_elsewhere(const std::string& host, const std::string& token, bool insecure) {
  const bool local = host == "127.0.0.1" || host == "::1";
  TY_REQUIRE(local || insecure || !token.empty(),
             "--host {} lets other machines ask: give --token FILE (or set TRAINYARD_TOKEN), or "
             "--insecure if that is what you want",
             host);
}

}  // namespace trainyard::cli
