// libFuzzer target: tokenizer.json and ranks, used and written again; see fuzz.h.
#include "data/text/tokenizer.h"
#include "fuzz/fuzz.h"

namespace {

void check(const trainyard::data::Tokenizer& tokenizer) {
  using namespace trainyard;
  // Reading is one thing, a text that it cannot express another.
  fuzz::read_or_refuse([&] {
    std::vector<data::TokenId> tokens;
    data::WordCache cache;
    tokenizer.encode("the <|endoftext|> don't 123\n\n\xff \u4f60\u597d [SEP]", tokens, &cache);
    for (const data::TokenId token : tokens) {
      if (token < 0 || token >= tokenizer.vocabulary_size()) __builtin_trap();
    }
    tokenizer.decode(tokens);
  });
  const std::string written = tokenizer.json().dump();
  if (data::parse_tokenizer_json(written, "again")->json().dump() != written) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace trainyard;
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::read_or_refuse([&] { check(*data::parse_tokenizer_json(text, "fuzz")); });
  return fuzz::read_or_refuse([&] { check(*data::parse_tiktoken(text, "llama3", "fuzz")); });
}
