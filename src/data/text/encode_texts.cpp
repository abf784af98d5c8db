#include "data/text/encode_texts.h"

#include <atomic>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "data/text/run_threads.h"
#include "data/text/word_counts.h"

namespace trainyard::data {
namespace {

constexpr size_t kEncodedBytes = size_t{1} << 20;
constexpr int64_t kMostOfTwoBytes = int64_t{1} << 16;

// A part of a document, encoded on its own.
struct Part {
  std::string_view text;
  bool ends_document = false;
  std::vector<TokenId> tokens;
};

std::vector<Part> parts_of(const Tokenizer& tokenizer,
                           std::span<const std::string_view> documents) {
  std::vector<Part> parts;
  for (const std::string_view& document : documents) {
    const std::vector<std::string_view> texts = tokenizer.may_be_cut()
                                                    ? cut_texts({&document, 1}, kEncodedBytes)
                                                    : std::vector<std::string_view>{document};
    for (const std::string_view text : texts) parts.push_back({text, false, {}});
    if (!texts.empty()) parts.back().ends_document = true;
  }
  return parts;
}

void encode_parts(const Tokenizer& tokenizer, std::vector<Part>& parts, int64_t threads) {
  std::atomic<size_t> next{0};
  run_threads(threads, [&] {
    WordCache cache;
    for (size_t i = next++; i < parts.size(); i = next++) {
      tokenizer.encode_plain(parts[i].text, parts[i].tokens, &cache);
    }
  });
}

template <typename Number>
std::string bytes_of(std::span<const TokenId> tokens) {
  std::string bytes(tokens.size() * sizeof(Number), '\0');
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto number = static_cast<Number>(tokens[i]);
    std::memcpy(bytes.data() + i * sizeof(Number), &number, sizeof(Number));
  }
  return bytes;
}

template <typename Number>
std::vector<TokenId> tokens_of(std::string_view bytes, int64_t vocabulary,
                               const std::string& origin) {
  TY_REQUIRE(bytes.size() % sizeof(Number) == 0,
             "{}: {} bytes are no whole number of tokens of {} bytes", origin, bytes.size(),
             sizeof(Number));
  std::vector<TokenId> tokens(bytes.size() / sizeof(Number));
  for (size_t i = 0; i < tokens.size(); ++i) {
    Number number{};
    std::memcpy(&number, bytes.data() + i * sizeof(Number), sizeof(Number));
    TY_REQUIRE(number < vocabulary, "{}: token {} at place {} is outside of the vocabulary of {}",
               origin, number, i, vocabulary);
    tokens[i] = static_cast<TokenId>(number);
  }
  return tokens;
}

}  // namespace

std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name, std::string_view pattern) {
  if (name == "bytes") return make_byte_tokenizer();
  return read_tokenizer(name, pattern);
}

std::vector<TokenId> encode_texts(const Tokenizer& tokenizer,
                                  std::span<const std::string_view> documents, int64_t threads,
                                  bool ends) {
  std::vector<Part> parts = parts_of(tokenizer, documents);
  encode_parts(tokenizer, parts, threads);
  constexpr TokenId kNone = -1;
  const TokenId end = ends ? tokenizer.end_of_text().value_or(kNone) : kNone;
  std::vector<TokenId> tokens;
  for (Part& part : parts) {
    tokens.insert(tokens.end(), part.tokens.begin(), part.tokens.end());
    if (part.ends_document && end != kNone) tokens.push_back(end);
    part.tokens = {};
  }
  return tokens;
}

int64_t write_token_file(const std::filesystem::path& path, std::span<const TokenId> tokens,
                         int64_t vocabulary) {
  const bool narrow = vocabulary <= kMostOfTwoBytes;
  write_file(path, narrow ? bytes_of<uint16_t>(tokens) : bytes_of<uint32_t>(tokens));
  return narrow ? 2 : 4;
}

std::vector<TokenId> read_token_file(const std::filesystem::path& path, int64_t vocabulary) {
  const std::string bytes = read_file(path);
  TY_REQUIRE(!bytes.empty(), "{}: the file is empty, expected tokens", path.string());
  return vocabulary <= kMostOfTwoBytes ? tokens_of<uint16_t>(bytes, vocabulary, path.string())
                                       : tokens_of<uint32_t>(bytes, vocabulary, path.string());
}

}  // namespace trainyard::data
