#include "serve/curl_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/json.h"
#include "base/printable.h"
#include "base/shell.h"
#include "http/url.h"
#include "serve/service.h"

namespace trainyard::serve {
namespace {

// Lists of more numbers are nothing to paste.
constexpr int64_t kMostNumbers = 64;

// Zeros for all inputs; nothing if that is too long, or a name is not to be shown as it is.
std::string zeros_json(const Network& network) {
  Json inputs = Json::array();
  for (const TensorSpec& spec : network.inputs()) {
    std::vector<int64_t> dims = spec.dims;
    int64_t count = 1;
    for (int64_t& dim : dims) {
      dim = std::max<int64_t>(dim, 1);
      count = std::min(count, kMostNumbers + 1) * dim;
    }
    if (count > kMostNumbers || printable_line(spec.name) != spec.name) return "";
    inputs.push_back(
        Json::object({{"name", spec.name},
                      {"datatype", protocol_name(spec.dtype)},
                      {"shape", Json::array_of(dims)},
                      {"data", Json::array_of(std::vector<int>(static_cast<size_t>(count)))}}));
  }
  return Json::object({{"inputs", std::move(inputs)}}).dump(-1);
}

}  // namespace

std::string curl_line(const ModelVersion& model, const std::string& address, bool token) {
  const std::string url = fmt::format("{}/v2/models/{}", address, url_encode(model.name()));
  const std::string begin = token ? "curl -H \"Authorization: Bearer $TOKEN\"" : "curl";
  if (model.network().takes_pictures()) {
    return fmt::format("{} --data-binary @cat.jpg {}", begin, shell_word(url + "/infer"));
  }
  if (model.network().table()) {
    return fmt::format("{} --data-binary @rows.csv {}", begin, shell_word(url + "/infer"));
  }
  const std::string json = zeros_json(model.network());
  if (json.empty()) return fmt::format("{} {}", begin, shell_word(url));
  return fmt::format("{} -d {} {}", begin, shell_word(json), shell_word(url + "/infer"));
}

}  // namespace trainyard::serve
