// What a set of texts says of its tokens.
#pragma once

#include <cstdint>
#include <string>

namespace trainyard::data {

inline constexpr int64_t kNoToken = -1;

// A sample of such a set is a row of token ids in place of a picture.
struct TokenFacts {
  int64_t length = 0;      // of every row
  int64_t vocabulary = 0;  // ids are below
  // The id that opens each document: rows behind it see nothing before it, and positions count from
  // it. kNoToken: a text without documents.
  int64_t end_of_text = kNoToken;
  double bytes_per_token = 0;  // of the text that was cut into tokens; 0: not known
  std::string tokenizer = {};  // the file that says what ids mean; empty: there is none
  // What is in that file, where it was made for these texts; a run keeps it under that name.
  std::string tokenizer_json = {};

  bool operator==(const TokenFacts&) const = default;
};

}  // namespace trainyard::data
