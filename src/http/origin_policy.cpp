#include "http/origin_policy.h"

#include <algorithm>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>

namespace trainyard::serve {
namespace {

std::string small_letters(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// "NAME:80" and "[::1]:80" without port and brackets.
std::string name_of(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  std::string name = small_letters(host.substr(0, host.find(':')));
  if (name.ends_with('.')) name.pop_back();
  return name;
}

bool is_address(const std::string& name) {
  boost::system::error_code problem;
  boost::asio::ip::make_address(name, problem);
  return !problem;
}

// What stands behind "https://"; "null" of pages that have no name.
std::string_view host_of_origin(std::string_view origin) {
  const size_t scheme = origin.find("://");
  return scheme == std::string_view::npos ? origin : origin.substr(scheme + 3);
}

}  // namespace

OriginPolicy::OriginPolicy(std::vector<std::string> allowed_hosts)
    : allowed_(std::move(allowed_hosts)) {
  for (std::string& name : allowed_) name = small_letters(name);
  char own[256] = {};
  if (gethostname(own, sizeof own - 1) == 0 && own[0] != '\0') {
    allowed_.push_back(small_letters(own));
  }
}

bool OriginPolicy::is_our_host(std::string_view host) const {
  const std::string name = name_of(host);
  return name == "localhost" || name.ends_with(".localhost") || is_address(name) ||
         std::any_of(allowed_.begin(), allowed_.end(),
                     [&](const std::string& own) { return own == "*" || own == name; });
}

void OriginPolicy::require_our_host(const HttpRequest& request) const {
  // Browsers always say whom they ask.
  if (request.host.empty() || is_our_host(request.host)) return;
  refuse(Status::kMisdirected,
         "Host is '{}', which is none of this server's names; start it with `allowed_host` NAME if "
         "it should be",
         request.host);
}

void OriginPolicy::require_our_page(const HttpRequest& request) const {
  const std::string_view origin = request.header("Origin");
  const std::string_view site = request.header("Sec-Fetch-Site");
  const bool browser = !origin.empty() || !site.empty() || !request.header("Referer").empty() ||
                       request.header("User-Agent").starts_with("Mozilla/");
  if (!browser) return;
  require_same_origin(request);
  if (!request.header("Content-Type").starts_with("application/json")) {
    refuse(Status::kForbidden, "from a browser this call needs Content-Type: application/json");
  }
}

void OriginPolicy::require_same_origin(const HttpRequest& request) const {
  const std::string_view origin = request.header("Origin");
  const std::string_view site = request.header("Sec-Fetch-Site");
  // Behind a proxy the name that the browser knows may be another than that which we are asked by.
  const std::string_view from = host_of_origin(origin);
  const bool own = origin.empty() || from == request.host ||
                   std::find(allowed_.begin(), allowed_.end(), name_of(from)) != allowed_.end();
  if (!own || (!site.empty() && site != "same-origin" && site != "none")) {
    refuse(Status::kForbidden, "a page of '{}' may not ask this server", origin);
  }
}

}  // namespace trainyard::serve
