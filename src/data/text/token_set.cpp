#include "data/text/token_set.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/numbers.h"
#include "data/readers.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kLongestRow = int64_t{1} << 20;
constexpr int64_t kLargestVocabulary = int64_t{1} << 24;
constexpr int64_t kByteVocabulary = 256;
constexpr double kMostBytes = 1e6;  // of a token

class TokenSet final : public Dataset {
 public:
  TokenSet(TokenRow row, TokenFacts facts, std::string source)
      : Dataset({.shape = {.channels = 1, .height = 1, .width = facts.length},
                 .class_names = {},
                 .source = std::move(source),
                 .tokens = std::move(facts)}),
        row_(std::move(row)) {}

  int64_t size() const override { return (row_.size() - 1) / tokens()->length; }
  TargetKind target_kind() const override { return TargetKind::kTokens; }
  PixelView pixels(int64_t, Pixels&) const override {
    throw_error("{} is text: it has no pictures", source());
  }
  void read_tokens(int64_t index, std::span<int64_t> now, std::span<int64_t> next) const override {
    const int64_t begin = index * tokens()->length;
    row_.copy(begin, now);
    row_.copy(begin + 1, next);
  }

 private:
  TokenRow row_;
};

class LabeledTokenSet final : public Dataset {
 public:
  LabeledTokenSet(TokenRow row, TokenRow labels, DatasetInfo info)
      : Dataset(std::move(info)), row_(std::move(row)), labels_(std::move(labels)) {}

  int64_t size() const override { return labels_.size(); }
  int64_t label(int64_t index) const override { return labels_[index]; }
  PixelView pixels(int64_t, Pixels&) const override {
    throw_error("{} is text: it has no pictures", source());
  }
  void read_tokens(int64_t index, std::span<int64_t> now, std::span<int64_t>) const override {
    row_.copy(index * tokens()->length, now);
  }

 private:
  TokenRow row_;
  TokenRow labels_;
};

class SpanTokenSet final : public Dataset {
 public:
  SpanTokenSet(TokenRow row, TokenRow spans, DatasetInfo info)
      : Dataset(std::move(info)), row_(std::move(row)), spans_(std::move(spans)) {}

  int64_t size() const override { return spans_.size() / 2; }
  TargetKind target_kind() const override { return TargetKind::kSpan; }
  void target(int64_t index, Target& target) const override {
    target.label = kNoLabel;
    target.first = spans_[2 * index];
    target.last = spans_[2 * index + 1];
  }
  PixelView pixels(int64_t, Pixels&) const override {
    throw_error("{} is text: it has no pictures", source());
  }
  void read_tokens(int64_t index, std::span<int64_t> now, std::span<int64_t>) const override {
    row_.copy(index * tokens()->length, now);
  }

 private:
  TokenRow row_;
  TokenRow spans_;
};

struct TokenFile {
  fs::path file;
  fs::path test_file;  // empty: a share of `file`
  double test_share = kTestShare;
  int64_t width = 2;
  fs::path labels = {};  // empty: what follows is to be foretold
  fs::path spans = {};   // like labels, of answers
};

// nanoGPT's folder, or one file.
TokenFile find_files(const Spec& spec) {
  TY_REQUIRE(!spec.place.empty(), "data set '{}': say where it is, as tokens:FILE", spec.text);
  TokenFile found{.file = spec.place, .test_file = {}};
  if (fs::is_directory(found.file)) {
    found.test_file = found.file / "val.bin";
    found.file /= "train.bin";
    TY_REQUIRE(fs::exists(found.file) && fs::exists(found.test_file),
               "data set '{}': the folder has no train.bin and val.bin; name a file", spec.text);
  }
  return found;
}

int64_t parse_width(const Spec& spec, const std::string& type) {
  TY_REQUIRE(type == "u8" || type == "u16" || type == "u32", "{} is '{}', expected u8, u16 or u32",
             spec.what("type"), type);
  return type == "u8" ? 1 : type == "u16" ? 2 : 4;
}

void read_test(const Spec& spec, const std::string& value, TokenFile& files) {
  if (fs::exists(value)) {
    files.test_file = value;
  } else {
    files.test_file.clear();
    files.test_share =
        parse_real(value, 0, 1, spec.what("test (a file that is there, or a share)"));
  }
}

void read_option(const Spec& spec, const Option& option, TokenFile& files, TokenFacts& facts) {
  const std::string what = spec.what(option.key);
  if (option.key == "test") {
    read_test(spec, option.value, files);
  } else if (option.key == "type") {
    files.width = parse_width(spec, option.value);
  } else if (option.key == "vocab") {
    facts.vocabulary = parse_whole(option.value, 1, kLargestVocabulary, what);
  } else if (option.key == "end") {
    facts.end_of_text = parse_whole(option.value, 0, kLargestVocabulary - 1, what);
  } else if (option.key == "length") {
    facts.length = parse_whole(option.value, 1, kLongestRow, what);
  } else if (option.key == "bytes") {
    facts.bytes_per_token = parse_real(option.value, 0, kMostBytes, what);
  } else if (option.key == "labels") {
    TY_REQUIRE(fs::is_regular_file(option.value), "{}: there is no file {}", what, option.value);
    files.labels = option.value;
  } else if (option.key == "spans") {
    TY_REQUIRE(fs::is_regular_file(option.value), "{}: there is no file {}", what, option.value);
    files.spans = option.value;
  } else {
    TY_REQUIRE(fs::is_regular_file(option.value), "{}: there is no file {}", what, option.value);
    facts.tokenizer = option.value;
  }
}

// Rows with two numbers each.
std::unique_ptr<Dataset> open_spans(const Spec& spec, const TokenFile& files, const TokenRow& all,
                                    TokenFacts facts, Split split) {
  TY_REQUIRE(files.test_file.empty() && files.labels.empty(),
             "data set '{}': with spans, test is a share and there are no labels", spec.text);
  const TokenRow spans = TokenRow::map(files.spans, files.width);
  if (facts.vocabulary == 0) facts.vocabulary = all.largest() + 1;
  const int64_t rows = all.size() / facts.length;
  TY_REQUIRE(
      2 * rows == spans.size() && all.size() % facts.length == 0,
      "data set '{}': {} tokens are no rows of {} with a first and a last token for each; {} "
      "has {} numbers",
      spec.text, with_commas(all.size()), facts.length, files.spans.string(),
      with_commas(spans.size()));
  for (int64_t i = 0; i < rows; ++i) {
    TY_REQUIRE(spans[2 * i] <= spans[2 * i + 1] && spans[2 * i + 1] < facts.length,
               "{}: row {} has a span from {} to {}, expected places in a row of {}",
               files.spans.string(), i, spans[2 * i], spans[2 * i + 1], facts.length);
  }
  all.require_below(facts.vocabulary, files.file.string());
  const auto kept =
      static_cast<int64_t>(std::llround(static_cast<double>(rows) * (1 - files.test_share)));
  const int64_t first = split == Split::kTrain ? 0 : kept;
  const int64_t last = split == Split::kTrain ? kept : rows;
  TY_REQUIRE(first < last, "data set '{}': the {} split has no rows", spec.text, split_name(split));
  DatasetInfo info{.shape = {.channels = 1, .height = 1, .width = facts.length},
                   .class_names = {},
                   .source = fmt::format("{} ({} split, {} rows with spans)", files.file.string(),
                                         split_name(split), with_commas(last - first)),
                   .tokens = facts};
  return std::make_unique<SpanTokenSet>(all.part(first * facts.length, last * facts.length),
                                        spans.part(2 * first, 2 * last), std::move(info));
}

std::unique_ptr<Dataset> open_labeled(const Spec& spec, const TokenFile& files, const TokenRow& all,
                                      TokenFacts facts, Split split) {
  TY_REQUIRE(files.test_file.empty(), "data set '{}': with labels, test is a share", spec.text);
  const TokenRow labels = TokenRow::map(files.labels, files.width);
  if (facts.vocabulary == 0) facts.vocabulary = all.largest() + 1;
  const TokenRow own = split_of(labels, files.test_share, split);
  const int64_t first = split == Split::kTrain ? 0 : labels.size() - own.size();
  const int64_t rows = all.size() / facts.length;
  TY_REQUIRE(rows == labels.size() && all.size() % facts.length == 0,
             "data set '{}': {} tokens are no {} rows of {}", spec.text, with_commas(all.size()),
             with_commas(labels.size()), facts.length);
  return make_labeled_token_set(all.part(first * facts.length, (first + own.size()) * facts.length),
                                own, numbered_classes(labels.largest() + 1), std::move(facts),
                                fmt::format("{} ({} split, {} rows)", files.file.string(),
                                            split_name(split), with_commas(own.size())));
}

}  // namespace

TokenRow::TokenRow(std::vector<uint32_t> ids) : size_(static_cast<int64_t>(ids.size())) {
  const auto own = std::make_shared<const std::vector<uint32_t>>(std::move(ids));
  data_ = reinterpret_cast<const std::byte*>(own->data());
  owner_ = own;
}

TokenRow TokenRow::map(const fs::path& file, int64_t bytes_per_id) {
  const auto mapped = std::make_shared<const MappedFile>(file);
  const auto bytes = static_cast<int64_t>(mapped->bytes().size());
  TY_REQUIRE(bytes > 0, "{} is empty, expected token ids of {} bytes", file.string(), bytes_per_id);
  TY_REQUIRE(bytes % bytes_per_id == 0, "{} has {} bytes, which is no whole number of ids of {}",
             file.string(), bytes, bytes_per_id);
  TokenRow row;
  row.data_ = mapped->bytes().data();
  row.owner_ = mapped;
  row.width_ = bytes_per_id;
  row.size_ = bytes / bytes_per_id;
  return row;
}

int64_t TokenRow::operator[](int64_t index) const {
  const std::byte* at = data_ + index * width_;
  if (width_ == 1) return std::to_integer<int64_t>(*at);
  if (width_ == 2) {
    uint16_t id = 0;
    std::memcpy(&id, at, sizeof(id));
    return id;
  }
  uint32_t id = 0;
  std::memcpy(&id, at, sizeof(id));
  return id;
}

void TokenRow::copy(int64_t begin, std::span<int64_t> out) const {
  TY_CHECK(0 <= begin && begin + static_cast<int64_t>(out.size()) <= size_, "tokens {} to {} of {}",
           begin, begin + static_cast<int64_t>(out.size()), size_);
  for (size_t i = 0; i < out.size(); ++i) out[i] = (*this)[begin + static_cast<int64_t>(i)];
}

TokenRow TokenRow::part(int64_t begin, int64_t end) const {
  TY_CHECK(0 <= begin && begin <= end && end <= size_, "part {} to {} of {}", begin, end, size_);
  TokenRow row = *this;
  row.data_ += begin * width_;
  row.size_ = end - begin;
  return row;
}

int64_t TokenRow::largest() const {
  int64_t most = -1;
  for (int64_t i = 0; i < size_; ++i) most = std::max(most, (*this)[i]);
  return most;
}

void TokenRow::require_below(int64_t vocabulary, const std::string& what) const {
  for (int64_t i = 0; i < size_; ++i) {
    TY_REQUIRE((*this)[i] < vocabulary,
               "{}: token {} at place {} is outside of the vocabulary of {}; is it another "
               "tokenizer's file, or one of numbers of another width?",
               what, (*this)[i], i, vocabulary);
  }
}

TokenRow split_of(const TokenRow& all, double test_share, Split split) {
  const auto kept = static_cast<int64_t>(static_cast<double>(all.size()) * (1 - test_share) + 0.5);
  return split == Split::kTrain ? all.part(0, kept) : all.part(kept, all.size());
}

std::unique_ptr<Dataset> make_token_set(TokenRow tokens, TokenFacts facts, std::string source) {
  TY_REQUIRE(facts.length >= 1, "{}: rows of {} tokens, expected 1 or more", source, facts.length);
  TY_REQUIRE(tokens.size() > facts.length,
             "{} has {} tokens, and a row of length {} needs {}: a longer text or a smaller length",
             source, with_commas(tokens.size()), facts.length, facts.length + 1);
  TY_REQUIRE(facts.end_of_text < facts.vocabulary,
             "{}: the end of a text is token {}, outside of the vocabulary of {}", source,
             facts.end_of_text, facts.vocabulary);
  tokens.require_below(facts.vocabulary, source);
  return std::make_unique<TokenSet>(std::move(tokens), std::move(facts), std::move(source));
}

std::unique_ptr<Dataset> make_labeled_token_set(TokenRow tokens, TokenRow labels,
                                                std::vector<std::string> class_names,
                                                TokenFacts facts, std::string source) {
  TY_REQUIRE(labels.size() > 0 && labels.size() * facts.length == tokens.size(),
             "{} has {} tokens, and {} labels of rows of {} need {}", source,
             with_commas(tokens.size()), with_commas(labels.size()), facts.length,
             with_commas(labels.size() * facts.length));
  tokens.require_below(facts.vocabulary, source);
  const auto classes = static_cast<int64_t>(class_names.size());
  TY_REQUIRE(labels.largest() < classes, "{}: label {} is outside of the {} classes", source,
             labels.largest(), classes);
  DatasetInfo info{.shape = {.channels = 1, .height = 1, .width = facts.length},
                   .class_names = std::move(class_names),
                   .source = std::move(source),
                   .tokens = std::move(facts)};
  return std::make_unique<LabeledTokenSet>(std::move(tokens), std::move(labels), std::move(info));
}

bool names_option(std::string_view spec, std::string_view key) {
  const std::vector<Option> options = parse_spec(spec).options;
  return std::any_of(options.begin(), options.end(),
                     [&](const Option& option) { return option.key == key; });
}

std::unique_ptr<Dataset> open_tokens(const Spec& spec, Split split, int64_t length) {
  allow_options(
      spec, {"test", "type", "vocab", "end", "length", "bytes", "tokenizer", "labels", "spans"});
  TokenFile files = find_files(spec);
  TokenFacts facts;
  for (const Option& option : spec.options) read_option(spec, option, files, facts);
  if (files.width == 1) {
    if (facts.vocabulary == 0) facts.vocabulary = kByteVocabulary;
    if (facts.bytes_per_token == 0) facts.bytes_per_token = 1;
    if (facts.tokenizer.empty()) facts.tokenizer = kByteTokens;
  }
  TY_REQUIRE(length == 0 || facts.length == 0 || facts.length == length,
             "length is {}, but data set '{}' says {}", length, spec.text, facts.length);
  if (length > 0) facts.length = length;
  if (facts.length == 0) facts.length = kUsualLength;
  const TokenRow all = TokenRow::map(files.file, files.width);
  if (!files.spans.empty()) return open_spans(spec, files, all, facts, split);
  if (!files.labels.empty()) return open_labeled(spec, files, all, facts, split);
  const bool apart = !files.test_file.empty();
  const TokenRow test = apart ? TokenRow::map(files.test_file, files.width) : all;
  if (facts.vocabulary == 0) {
    facts.vocabulary = std::max({all.largest(), test.largest(), facts.end_of_text}) + 1;
  }
  const TokenRow& whole = apart && split == Split::kTest ? test : all;
  TokenRow own = apart ? whole : split_of(all, files.test_share, split);
  std::string source =
      fmt::format("{} ({} split, {} tokens)",
                  (apart && split == Split::kTest ? files.test_file : files.file).string(),
                  split_name(split), with_commas(own.size()));
  return make_token_set(std::move(own), std::move(facts), std::move(source));
}

}  // namespace trainyard::data
