#include "serve/http/request_parser.h"

namespace trainyard::serve {

void RequestHead::fields(Fields& out) const {
  out.clear();
  for (const auto& [name, value] : field_pieces) out.emplace_back(view(name), view(value));
}

void RequestHead::clear() {
  text.clear();
  field_pieces.clear();
  chunks.clear();
  method_piece = target_piece = expect_piece = {};
  version = 0;
}

RequestHead::Piece RequestHead::keep(std::string_view part) {
  const Piece piece{text.size(), part.size()};
  text += part;
  return piece;
}

void RequestParser::on_request_impl(boost::beast::http::verb, Text method, Text target, int version,
                                    Problem&) {
  head_.method_piece = head_.keep({method.data(), method.size()});
  head_.target_piece = head_.keep({target.data(), target.size()});
  head_.version = version;
}

// Fields behind the last chunk come here too, and are no part of the head.
void RequestParser::on_field_impl(boost::beast::http::field field, Text name, Text value,
                                  Problem&) {
  if (is_header_done()) return;
  const RequestHead::Piece kept_name = head_.keep({name.data(), name.size()});
  const RequestHead::Piece kept_value = head_.keep({value.data(), value.size()});
  head_.field_pieces.emplace_back(kept_name, kept_value);
  const bool first = head_.expect_piece.size == 0;
  if (field == boost::beast::http::field::expect && first) head_.expect_piece = kept_value;
}

}  // namespace trainyard::serve
