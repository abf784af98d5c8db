// What the page of `trainyard ui` asks of a server of `trainyard serve`.
#pragma once

#include <map>
#include <string>

namespace trainyard::cli {

// Its models, statistics and metrics, as JSON; {"address": null} for an empty `server`. Throws
// Error for one that does not answer.
std::string asked_server(const std::string& server);
// What a model takes and gives, or with a body its answer to that: JSON, or a picture. Throws Error
// with what the server says is wrong.
std::string asked_model(const std::string& server, const std::string& model,
                        const std::map<std::string, std::string>& query, const std::string& body);

}  // namespace trainyard::cli
