// Whether a request comes from where it should: browsers send requests that other people's pages
// have made up.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/http.h"

namespace trainyard::serve {

class OriginPolicy {
 public:
  // Names by which clients may call this server beside its addresses, localhost and the machine's
  // own name; "*": any.
  explicit OriginPolicy(std::vector<std::string> allowed_hosts);

  // A page whose name its owner has made to mean our address (DNS rebinding) could read our
  // answers. An address cannot be made to mean another.
  bool is_our_host(std::string_view host) const;
  // Throws RequestError (kMisdirected) unless Host is ours.
  void require_our_host(const HttpRequest& request) const;
  // Of a browser it must come from our own page, or from its address bar. Throws RequestError
  // (kForbidden).
  void require_same_origin(const HttpRequest& request) const;
  // For what changes something: of a browser it must come from our own page, and as JSON, which no
  // form can send. Programs may send what they like. Throws RequestError (kForbidden).
  void require_our_page(const HttpRequest& request) const;

 private:
  std::vector<std::string> allowed_;  // in small letters
};

}  // namespace trainyard::serve
