// The head of a request and its chunks, by Beast's grammar; texts lie in one buffer, which is used
// again for the next request.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/beast/http/basic_parser.hpp>

namespace trainyard::serve {

struct RequestHead {
  using Fields = std::vector<std::pair<std::string_view, std::string_view>>;

  std::string_view method() const { return view(method_piece); }
  std::string_view target() const { return view(target_piece); }
  std::string_view expect() const { return view(expect_piece); }
  // Of the target where it has one (http://HOST/…), else of the field Host.
  std::string_view host() const { return view(host_piece); }
  // Why nobody can be sure where the body ends, or whom the request is for; empty if all is well
  // (RFC 9112, 3.2 and 6.1). Different readings of one stream of bytes would let a stranger put
  // requests into other people's connections.
  std::string_view ambiguity() const;
  // Names and values in their order, into `out`. Valid until clear().
  void fields(Fields& out) const;
  void clear();

  struct Piece {
    size_t begin = 0;
    size_t size = 0;
  };
  std::string_view view(Piece piece) const {
    return std::string_view(text).substr(piece.begin, piece.size);
  }
  Piece keep(std::string_view part);

  std::string text;
  Piece method_piece;
  Piece target_piece;
  Piece expect_piece;
  Piece host_piece;
  int hosts = 0;      // fields of these names
  int encodings = 0;  // Transfer-Encoding
  int lengths = 0;
  bool chunked_alone = true;  // every Transfer-Encoding is that
  std::vector<std::pair<Piece, Piece>> field_pieces;
  int version = 0;             // 11 is HTTP/1.1
  std::string chunks;          // of a chunked body, put together
  size_t extension_bytes = 0;  // of chunks
};

// For one request.
class RequestParser final : public boost::beast::http::basic_parser<true> {
 public:
  explicit RequestParser(RequestHead& head) : head_(head) { head.clear(); }

 private:
  using Text = boost::beast::string_view;
  using Problem = boost::beast::error_code;

  void on_request_impl(boost::beast::http::verb verb, Text method, Text target, int version,
                       Problem& problem) override;
  void on_response_impl(int, Text, int, Problem&) override {}
  void on_field_impl(boost::beast::http::field name_of, Text name, Text value,
                     Problem& problem) override;
  void on_header_impl(Problem&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>&, Problem&) override {}
  std::size_t on_body_impl(Text body, Problem&) override { return body.size(); }
  void on_chunk_header_impl(uint64_t, Text extension, Problem&) override {
    head_.extension_bytes += extension.size();
  }
  std::size_t on_chunk_body_impl(uint64_t, Text body, Problem&) override {
    head_.chunks.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(Problem&) override {}

  RequestHead& head_;
};

}  // namespace trainyard::serve
