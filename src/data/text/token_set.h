// Texts as rows of token ids, whose next ids are to be foretold.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/spec.h"

namespace trainyard::data {

// A long row of token ids in memory that it keeps alive: own, or of a mapped file. Copies are
// cheap.
class TokenRow {
 public:
  explicit TokenRow(std::vector<uint32_t> ids);
  // Little-endian numbers of 1, 2 or 4 bytes, as nanoGPT writes those of 2. Throws Error for a file
  // that is missing, empty or no whole number of ids.
  static TokenRow map(const std::filesystem::path& file, int64_t bytes_per_id);

  int64_t size() const { return size_; }
  int64_t operator[](int64_t index) const;
  // Ids from `begin` on.
  void copy(int64_t begin, std::span<int64_t> out) const;
  // Ids [begin, end).
  TokenRow part(int64_t begin, int64_t end) const;
  // Throws Error naming the first id that is not below `vocabulary`.
  void require_below(int64_t vocabulary, const std::string& what) const;
  int64_t largest() const;

 private:
  TokenRow() = default;

  std::shared_ptr<const void> owner_;
  const std::byte* data_ = nullptr;
  int64_t width_ = 4;  // bytes of an id
  int64_t size_ = 0;
};

// Windows of facts.length tokens, one behind the other; the target at each place is the token that
// follows. A rest shorter than a window is left out. `source` is for people, as
// DatasetInfo::source. Throws Error for a row without one whole window and for ids outside of the
// vocabulary.
std::unique_ptr<Dataset> make_token_set(TokenRow tokens, TokenFacts facts, std::string source);

// Rows of facts.length tokens, each with a class: sequences to be classified. Throws Error unless
// there are as many labels as rows and each is a class.
std::unique_ptr<Dataset> make_labeled_token_set(TokenRow tokens, TokenRow labels,
                                                std::vector<std::string> class_names,
                                                TokenFacts facts, std::string source);

// The last part of a row, a share of its tokens, is the test split.
inline constexpr double kTestShare = 0.1;
TokenRow split_of(const TokenRow& all, double test_share, Split split);

// The tokenizer of texts whose tokens are their bytes.
inline constexpr const char* kByteTokens = "bytes";

// tokens:FILE[,test=SHARE|FILE][,type=u8|u16|u32][,vocab=N][,end=ID][,length=N][,bytes=X]
// [,tokenizer=FILE][,labels=FILE|spans=FILE,length=N], or tokens:DIR with train.bin and val.bin.
// `length` (0: what the words say, or kUsualLength) is that of the settings. Tokens of one byte are
// the bytes of a text. With labels, numbers of the tokens' width, one for each row of N tokens,
// rows are to be classified; with spans, two for each, the first and the last token of an answer
// are to be found.
inline constexpr int64_t kUsualLength = 256;
// Whether the words have an option of this name.
bool names_option(std::string_view spec, std::string_view key);
std::unique_ptr<Dataset> open_tokens(const Spec& spec, Split split, int64_t length);

}  // namespace trainyard::data
