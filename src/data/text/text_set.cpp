#include "data/text/text_set.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "data/numbers.h"
#include "data/text/encode_texts.h"
#include "data/text/split.h"
#include "data/text/text_files.h"
#include "data/text/token_set.h"

namespace trainyard::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostTokensOfRow = int64_t{1} << 20;

struct TextOptions {
  std::string tokenizer = "bytes";
  std::string pattern = "cl100k";
  fs::path test_place;  // empty: a share
  double test_share = kTestShare;
  bool share_given = false;
  int64_t length = 0;
};

TextOptions read_options(const Spec& spec, int64_t length) {
  allow_options(spec, {"tokenizer", "test", "length", "pattern"});
  TextOptions options;
  for (const Option& option : spec.options) {
    if (option.key == "tokenizer") {
      options.tokenizer = option.value;
    } else if (option.key == "pattern") {
      options.pattern = option.value;
    } else if (option.key == "length") {
      options.length = parse_whole(option.value, 1, kMostTokensOfRow, spec.what("length"));
    } else if (fs::exists(option.value)) {
      options.test_place = option.value;
    } else {
      options.test_share =
          parse_real(option.value, 0, 1, spec.what("test (a file that is there, or a share)"));
      options.share_given = true;
    }
  }
  TY_REQUIRE(length == 0 || options.length == 0 || options.length == length,
             "length is {}, but data set '{}' says {}", length, spec.text, options.length);
  if (length > 0) options.length = length;
  if (options.length == 0) options.length = kUsualLength;
  return options;
}

// What the name of a file says it is for.
std::optional<Split> split_of_name(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.starts_with("train")) return Split::kTrain;
  if (name.starts_with("val") || name.starts_with("test")) return Split::kTest;
  return std::nullopt;
}

std::vector<std::string_view> documents_of(const TextFiles& texts, const TextFiles::File& file) {
  const auto first = texts.documents().begin() + static_cast<int64_t>(file.first);
  return {first, first + static_cast<int64_t>(file.count)};
}

// By the names of the files, where there are some for both; no value: they do not say.
std::optional<std::vector<std::string_view>> split_by_name(const TextFiles& texts, Split split) {
  std::vector<std::string_view> own;
  bool has_other = false;
  for (const TextFiles::File& file : texts.files()) {
    const std::optional<Split> named = split_of_name(file.path);
    if (named && *named == split) {
      const std::vector<std::string_view> documents = documents_of(texts, file);
      own.insert(own.end(), documents.begin(), documents.end());
    }
    has_other |= named && *named != split;
  }
  if (own.empty() || !has_other) return std::nullopt;
  return own;
}

double total_bytes(std::span<const std::string_view> documents) {
  double bytes = 0;
  for (const std::string_view document : documents) bytes += static_cast<double>(document.size());
  return bytes;
}

std::vector<std::string_view> own_documents(const TextFiles& texts,
                                            const std::optional<TextFiles>& test,
                                            const TextOptions& options, Split split) {
  if (test) return split == Split::kTrain ? texts.documents() : test->documents();
  if (!options.share_given) {
    if (const auto named = split_by_name(texts, split)) return *named;
  }
  return split_documents(texts.documents(), options.test_share, split);
}

// The tokenizer is one for both splits, so characters are those of both.
std::unique_ptr<Tokenizer> tokenizer_for(const TextOptions& options,
                                         std::span<const std::string_view> documents) {
  if (options.tokenizer == "chars") return make_character_tokenizer(documents);
  return open_tokenizer(options.tokenizer, options.pattern);
}

TokenFacts facts_of(const Tokenizer& tokenizer, const TextOptions& options, bool several) {
  TokenFacts facts{.length = options.length, .vocabulary = tokenizer.vocabulary_size()};
  if (several) facts.end_of_text = tokenizer.end_of_text().value_or(kNoToken);
  if (options.tokenizer == "bytes") {
    facts.tokenizer = options.tokenizer;
    if (!several) facts.vocabulary = 256;  // nothing ends
  } else {
    facts.tokenizer = "tokenizer.json";
    facts.tokenizer_json = tokenizer.json().dump();
  }
  return facts;
}

}  // namespace

std::vector<std::string_view> split_documents(std::span<const std::string_view> documents,
                                              double test_share, Split split) {
  const double bytes = total_bytes(documents);
  const double border = bytes * (1 - test_share);
  std::vector<std::string_view> train;
  std::vector<std::string_view> test;
  double before = 0;
  for (const std::string_view document : documents) {
    (before < border ? train : test).push_back(document);
    before += static_cast<double>(document.size());
  }
  if (test.empty() && !train.empty() && test_share > 0) {
    const std::string_view last = train.back();
    const double begin = bytes - static_cast<double>(last.size());
    const size_t cut = cut_place(last, static_cast<size_t>(std::max(1.0, border - begin)));
    train.back() = last.substr(0, cut);
    if (cut < last.size()) test.push_back(last.substr(cut));
  }
  return split == Split::kTrain ? train : test;
}

std::unique_ptr<Dataset> open_text(const Spec& spec, Split split, int64_t length) {
  TY_REQUIRE(!spec.place.empty(), "data set '{}': say where it is, as text:FILE or text:DIR",
             spec.text);
  const TextOptions options = read_options(spec, length);
  const TextFiles texts{fs::path(spec.place)};
  std::optional<TextFiles> test;
  if (!options.test_place.empty()) test.emplace(options.test_place);
  std::vector<std::string_view> all = texts.documents();
  if (test) all.insert(all.end(), test->documents().begin(), test->documents().end());
  TY_REQUIRE(!all.empty(), "data set '{}': the files have no text", spec.text);
  const std::vector<std::string_view> own = own_documents(texts, test, options, split);
  const std::unique_ptr<Tokenizer> tokenizer = tokenizer_for(options, all);
  const bool several = all.size() > 1;
  const auto threads = static_cast<int64_t>(std::max(1U, std::thread::hardware_concurrency()));
  const std::vector<TokenId> tokens = encode_texts(*tokenizer, own, threads, several);
  TokenFacts facts = facts_of(*tokenizer, options, several);
  if (!tokens.empty()) {
    facts.bytes_per_token = total_bytes(own) / static_cast<double>(tokens.size());
  }
  std::string source = fmt::format(
      "texts in {} ({} split, {} tokens of {}{})", spec.place, split_name(split),
      with_commas(static_cast<int64_t>(tokens.size())), tokenizer->kind(),
      texts.left_out() == 0 ? "" : fmt::format("; {} other files not read", texts.left_out()));
  return make_token_set(TokenRow({tokens.begin(), tokens.end()}), std::move(facts),
                        std::move(source));
}

}  // namespace trainyard::data
