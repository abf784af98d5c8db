// Texts to tokens and back. Four kinds: byte-level byte-pair encoding (of which plain bytes are the
// one without merges), characters, and BERT's WordPiece.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "data/text/merges.h"
#include "data/text/vocabulary.h"

namespace trainyard::data {

// Of one tokenizer and for one thread. Takes a few MB at most; when it is full, it keeps what it
// has.
class WordCache {
 public:
  WordCache();

  // Whether the word is known; then its tokens are appended.
  bool append(std::string_view word, std::vector<TokenId>& tokens) const;
  void remember(std::string_view word, std::span<const TokenId> tokens);

 private:
  struct Entry {
    uint32_t word = 0;  // where in words_
    uint32_t tokens = 0;
    uint16_t bytes = 0;  // 0: free
    uint16_t count = 0;
    uint32_t hash = 0;
  };
  const Entry* find(std::string_view word, uint64_t hash, size_t& place) const;

  std::vector<Entry> entries_;
  std::string words_;
  std::vector<TokenId> tokens_;
  size_t size_ = 0;
};

struct AddedToken {
  TokenId id = 0;
  std::string content;
  bool special = true;      // left out where a text is made for people
  bool strip_left = false;  // takes the white space before it with it
  bool strip_right = false;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  // Throws Error for an empty or long content, and for two of one content or id.
  explicit AddedTokens(std::vector<AddedToken> tokens);

  struct Found {
    size_t begin = 0;
    size_t end = 0;
    const AddedToken* token = nullptr;  // null: there is none in the rest of the text
  };
  // The first at or after `from`, and of those that begin there the longest.
  Found find(std::string_view text, size_t from) const;
  const AddedToken* by_id(TokenId id) const;
  const AddedToken* by_content(std::string_view content) const;

  const std::vector<AddedToken>& all() const { return tokens_; }
  Json json() const;

 private:
  // The longest token that begins at `at`; null if none does.
  const AddedToken* match(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;  // sorted by id
  // A tree of bytes: the node behind another by a byte, and the token that ends at a node.
  std::unordered_map<uint64_t, uint32_t> edges_;
  std::unordered_map<uint32_t, size_t> ends_;
};

// Tokens that a network expects around a text.
struct TextFrame {
  std::vector<TokenId> before;
  std::vector<TokenId> after;
};

// Immutable; every function may be called by several threads at once, each with a cache of its own.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Appends the tokens of the text. Added tokens that are written in it are found. Throws Error for
  // what the vocabulary cannot express.
  void encode(std::string_view text, std::vector<TokenId>& tokens,
              WordCache* cache = nullptr) const;
  // The same where nothing in the text is an added token, as in documents to learn from.
  virtual void encode_plain(std::string_view text, std::vector<TokenId>& tokens,
                            WordCache* cache = nullptr) const = 0;
  // The bytes of the tokens, which may end within a character. Throws Error for an id that has no
  // token.
  enum class Specials : uint8_t { kKept, kLeftOut };
  std::string decode(std::span<const TokenId> tokens, Specials specials = Specials::kKept) const;

  // Ids are below it: as many rows as a network's embedding needs.
  int64_t vocabulary_size() const;
  // What a token stands for; no value: there is no such token.
  std::optional<std::string> token_text(int64_t id) const;
  // The token that ends a document, by the names that published tokenizers give it.
  std::optional<TokenId> end_of_text() const;
  // Those of the model; added tokens may be among them or not.
  const Vocabulary& vocabulary() const { return vocabulary_; }
  const AddedTokens& added() const { return added_; }
  const TextFrame& frame() const { return frame_; }
  // Whether parts of a text that are cut at cut_place() have the tokens of the whole.
  virtual bool may_be_cut() const { return true; }
  // For people: "byte-level BPE".
  virtual std::string kind() const = 0;
  // As the file tokenizer.json of Hugging Face.
  Json json() const;

 protected:
  Tokenizer(Vocabulary vocabulary, AddedTokens added, TextFrame frame)
      : vocabulary_(std::move(vocabulary)), added_(std::move(added)), frame_(std::move(frame)) {}

  // Decodes what stands between added tokens: by default, the texts of the tokens.
  virtual void decode_plain(std::span<const TokenId> tokens, std::string& out) const;
  virtual void append_added(const AddedToken& token, std::string& out) const;
  virtual Json model_json() const = 0;
  virtual Json normalizer_json() const { return nullptr; }
  virtual Json pre_tokenizer_json() const { return nullptr; }
  virtual Json decoder_json() const = 0;
  // Throws Error if there is no such token.
  std::string_view known_text(TokenId id) const;

 private:
  Json frame_json() const;

  Vocabulary vocabulary_;
  AddedTokens added_;
  TextFrame frame_;
};

// A token for each byte, 0 to 255, and one more for the end of a text, unless there are to be none.
std::unique_ptr<Tokenizer> make_byte_tokenizer(bool has_end = true);
// A token for each character of the texts, in the order of Unicode, and where there are several
// texts, one for the end of each. Throws Error where there is no character.
std::unique_ptr<Tokenizer> make_character_tokenizer(std::span<const std::string_view> texts);

// A file tokenizer.json. Throws Error that names the file, the part and what is not supported.
std::unique_ptr<Tokenizer> parse_tokenizer_json(std::string_view text, std::string_view origin);
// A file of ranks as tiktoken has them, which says neither how texts are split nor which tokens are
// special: `pattern` is a name of split_patterns(); an end of text follows the ranks.
std::unique_ptr<Tokenizer> parse_tiktoken(std::string_view text, std::string_view pattern,
                                          std::string_view origin);
// Throws Error for a tokenizer whose merges are not in the order of their tokens.
std::string tiktoken_text(const Tokenizer& tokenizer);

// Either of the files, told by what is in it.
std::unique_ptr<Tokenizer> read_tokenizer(const std::filesystem::path& path,
                                          std::string_view pattern = "cl100k");
void write_tokenizer(const std::filesystem::path& path, const Tokenizer& tokenizer);

}  // namespace trainyard::data
