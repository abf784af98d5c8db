#include "http/request_parser.h"

#include <algorithm>

#include <boost/beast/core/string.hpp>

namespace trainyard::serve {
namespace {

// Where the path begins in "http://HOST/path"; 0 if the target is no such address.
size_t host_end(std::string_view target, size_t& host_begin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    const std::string_view begin = target.substr(0, scheme.size());
    if (!boost::beast::iequals({begin.data(), begin.size()}, {scheme.data(), scheme.size()})) {
      continue;
    }
    host_begin = scheme.size();
    return std::min(target.find_first_of("/?", host_begin), target.size());
  }
  return 0;
}

}  // namespace

void RequestHead::fields(Fields& out) const {
  out.clear();
  for (const auto& [name, value] : field_pieces) out.emplace_back(view(name), view(value));
}

void RequestHead::clear() {
  text.clear();
  field_pieces.clear();
  chunks.clear();
  extension_bytes = 0;
  method_piece = target_piece = expect_piece = host_piece = {};
  hosts = encodings = lengths = 0;
  chunked_alone = true;
  version = 0;
}

std::string_view RequestHead::ambiguity() const {
  if (encodings > 0 && (encodings > 1 || !chunked_alone || version < 11)) {
    return "Transfer-Encoding must be chunked, once, and nothing else";
  }
  if (encodings > 0 && lengths > 0) return "it has both Transfer-Encoding and Content-Length";
  if (lengths > 1) return "it has Content-Length more than once";
  if (hosts > 1) return "it has Host more than once";
  if (hosts == 0 && version >= 11) return "it has no Host";
  return {};
}

RequestHead::Piece RequestHead::keep(std::string_view part) {
  const Piece piece{text.size(), part.size()};
  text += part;
  return piece;
}

void RequestParser::on_request_impl(boost::beast::http::verb, Text method, Text target, int version,
                                    Problem&) {
  head_.method_piece = head_.keep({method.data(), method.size()});
  const std::string_view whole(target.data(), target.size());
  size_t host_begin = 0;
  const size_t path = host_end(whole, host_begin);
  if (path > 0) head_.host_piece = head_.keep(whole.substr(host_begin, path - host_begin));
  const std::string_view rest = whole.substr(path);
  head_.target_piece = head_.keep(rest.starts_with('/') || path == 0 ? "" : "/");
  head_.target_piece.size += head_.keep(rest).size;
  head_.version = version;
}

// Fields behind the last chunk come here too, and are no part of the head.
void RequestParser::on_field_impl(boost::beast::http::field name_of, Text name, Text value,
                                  Problem&) {
  if (is_header_done()) return;
  const RequestHead::Piece kept_name = head_.keep({name.data(), name.size()});
  const RequestHead::Piece kept_value = head_.keep({value.data(), value.size()});
  head_.field_pieces.emplace_back(kept_name, kept_value);
  using boost::beast::http::field;
  switch (name_of) {
    case field::expect:
      if (head_.expect_piece.size == 0) head_.expect_piece = kept_value;
      break;
    case field::host:
      // That of the target holds (RFC 9112, 3.2.2).
      if (head_.host_piece.size == 0) head_.host_piece = kept_value;
      ++head_.hosts;
      break;
    case field::transfer_encoding:
      head_.chunked_alone = head_.chunked_alone && boost::beast::iequals(value, "chunked");
      ++head_.encodings;
      break;
    case field::content_length:
      ++head_.lengths;
      break;
    default:
      break;
  }
}

}  // namespace trainyard::serve
