// Documents to tokens by several threads, and files of tokens as nanoGPT has them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/tokenizer.h"

namespace trainyard::data {

// "bytes", or a file; `pattern` is for ranks of tiktoken, which do not say theirs.
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& name,
                                          std::string_view pattern = "cl100k");

// The tokens of all documents behind each other; with `ends`, each is followed by the token that
// ends a text, where the tokenizer has one. Special tokens that are written in a document are text
// like any other. The result does not depend on the threads.
std::vector<TokenId> encode_texts(const Tokenizer& tokenizer,
                                  std::span<const std::string_view> documents, int64_t threads,
                                  bool ends);

// Little-endian numbers of 2 bytes for vocabularies of up to 65,536, else of 4; returns which.
int64_t write_token_file(const std::filesystem::path& path, std::span<const TokenId> tokens,
                         int64_t vocabulary);
// Of the width that the vocabulary says. Throws Error for an id outside of it.
std::vector<TokenId> read_token_file(const std::filesystem::path& path, int64_t vocabulary);

}  // namespace trainyard::data
