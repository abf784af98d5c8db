// Names in paths and queries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::serve {

// Decodes %41; throws RequestError for what is no such code.
std::string url_decode(std::string_view text);
// The opposite, of everything but unreserved characters (RFC 3986, 2.3): a slash in a name does not
// split the path.
std::string url_encode(std::string_view text);
// The parts of a path, decoded.
std::vector<std::string> split_path(std::string_view path);

}  // namespace trainyard::serve
