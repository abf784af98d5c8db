// `trainyard tokenizer train|encode|decode|inspect`: texts to tokens and back.
#include "data/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "data/text/bpe_trainer.h"
#include "data/text/encode_texts.h"
#include "data/text/text_files.h"
#include "program/command.h"
#include "program/progress_line.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;

struct TokenizerFlags {
  std::string action;
  std::vector<std::string> files;
  std::string tokenizer;
  std::string text;
  std::string output;
  std::string kind = "bpe";
  std::string pattern = "gpt2";
  std::vector<int64_t> ids;
  std::vector<std::string> specials;
  int64_t vocabulary = 8192;
  int64_t least_count = 2;
  int64_t threads = 0;
  bool with_frame = false;
  bool quiet = false;
  report::Format format = report::Format::kText;
};

int64_t threads_of(const TokenizerFlags& flags) {
  constexpr int64_t kMostThreads = 1024;
  TY_REQUIRE(0 <= flags.threads && flags.threads <= kMostThreads,
             "--threads is {}, expected 0 (all processors) to {}", flags.threads, kMostThreads);
  if (flags.threads > 0) return flags.threads;
  return std::max<int64_t>(1, std::thread::hardware_concurrency());
}

data::TextFiles read_texts(const TokenizerFlags& flags) {
  TY_REQUIRE(!flags.files.empty(), "tokenizer {}: say which texts, as FILE or DIR", flags.action);
  const std::vector<fs::path> places(flags.files.begin(), flags.files.end());
  return data::TextFiles(places);
}

std::unique_ptr<data::Tokenizer> given_tokenizer(const TokenizerFlags& flags) {
  TY_REQUIRE(!flags.tokenizer.empty(),
             "tokenizer {}: say which, as --tokenizer FILE, bytes or one that `tokenizer train` "
             "wrote",
             flags.action);
  return data::open_tokenizer(flags.tokenizer, flags.pattern);
}

void render(report::Document document, const TokenizerFlags& flags, std::ostream& out) {
  out << report::render(document, flags.format);
}

report::Document said(std::string text, Json data) {
  report::Document document;
  document.blocks.emplace_back(report::Paragraph{std::move(text)});
  document.data = std::move(data);
  return document;
}

std::unique_ptr<data::Tokenizer> learn(const TokenizerFlags& flags, const data::TextFiles& texts) {
  if (flags.kind == "chars") return data::make_character_tokenizer(texts.documents());
  data::BpeTraining training{.vocabulary = flags.vocabulary,
                             .least_count = flags.least_count,
                             .split = data::rule_of_name(flags.pattern),
                             .threads = threads_of(flags)};
  if (!flags.specials.empty()) training.specials = flags.specials;
  ProgressLine line;
  return data::train_bpe(texts.documents(), training, [&](std::string_view what, double share) {
    // The words are the first tenth on the line, since they take about that.
    constexpr double kWords = 0.1;
    if (flags.quiet) return;
    line.show(what == "words" ? kWords * share : kWords + (1 - kWords) * share, what);
  });
}

int train(const TokenizerFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.output.empty(), "say where the tokenizer goes, as -o tok.json");
  const Stopwatch watch;
  const data::TextFiles texts = read_texts(flags);
  const std::unique_ptr<data::Tokenizer> tokenizer = learn(flags, texts);
  data::write_tokenizer(flags.output, *tokenizer);
  const double seconds = watch.seconds();
  std::string fewer;
  if (flags.kind == "bpe" && tokenizer->vocabulary_size() < flags.vocabulary) {
    fewer = fmt::format("; the texts have no more pairs that stand together {} times",
                        flags.least_count);
  }
  const std::string text = fmt::format(
      "{}: {}, {} tokens{}\nlearned from {} in {} of {} in {}", flags.output, tokenizer->kind(),
      with_commas(tokenizer->vocabulary_size()), fewer,
      bytes_text(static_cast<double>(texts.bytes())),
      texts.documents().size() == 1
          ? "1 document"
          : fmt::format("{} documents",
                        with_commas(static_cast<int64_t>(texts.documents().size()))),
      texts.files().size() == 1 ? "1 file" : fmt::format("{} files", texts.files().size()),
      seconds_text(seconds));
  render(said(text, Json::object({{"output", flags.output},
                                  {"kind", tokenizer->kind()},
                                  {"vocabulary", tokenizer->vocabulary_size()},
                                  {"bytes", texts.bytes()},
                                  {"documents", static_cast<int64_t>(texts.documents().size())},
                                  {"files", static_cast<int64_t>(texts.files().size())},
                                  {"seconds", seconds}})),
         flags, out);
  return 0;
}

std::string ids_text(std::span<const data::TokenId> ids) {
  std::vector<std::string> parts;
  for (const data::TokenId id : ids) parts.push_back(fmt::format("{}", id));
  return join(parts, " ");
}

// A text of the command line: its tokens are shown.
int encode_text(const TokenizerFlags& flags, const data::Tokenizer& tokenizer, std::ostream& out) {
  TY_REQUIRE(flags.files.empty() && flags.output.empty(),
             "--text is shown; for files, leave it out and say -o F.bin");
  std::vector<data::TokenId> ids;
  if (flags.with_frame) ids = tokenizer.frame().before;
  tokenizer.encode(flags.text, ids);
  if (flags.with_frame) {
    const std::vector<data::TokenId>& after = tokenizer.frame().after;
    ids.insert(ids.end(), after.begin(), after.end());
  }
  Json tokens = Json::array();
  for (const data::TokenId id : ids) tokens.push_back(made_utf8(*tokenizer.token_text(id)));
  Json numbers = Json::array();
  for (const data::TokenId id : ids) numbers.push_back(int64_t{id});
  render(said(ids_text(ids), Json::object({{"ids", numbers}, {"tokens", tokens}})), flags, out);
  return 0;
}

int encode(const TokenizerFlags& flags, std::ostream& out) {
  const std::unique_ptr<data::Tokenizer> tokenizer = given_tokenizer(flags);
  if (!flags.text.empty()) return encode_text(flags, *tokenizer, out);
  TY_REQUIRE(!flags.output.empty(), "say where the tokens go, as -o F.bin, or give --text");
  const data::TextFiles texts = read_texts(flags);
  const Stopwatch watch;
  const std::vector<data::TokenId> ids =
      data::encode_texts(*tokenizer, texts.documents(), threads_of(flags),
                         /*ends=*/texts.documents().size() > 1);
  const double seconds = watch.seconds();
  const int64_t width = data::write_token_file(flags.output, ids, tokenizer->vocabulary_size());
  const auto count = static_cast<int64_t>(ids.size());
  const double rate = static_cast<double>(texts.bytes()) / 1e6 / std::max(seconds, 1e-9);
  const double per_token = static_cast<double>(texts.bytes()) / static_cast<double>(count);
  render(said(fmt::format("{}: {} tokens of {} bytes each, {} of text ({} per token)\n"
                          "encoded in {}, {} MB/s on {} threads",
                          flags.output, with_commas(count), width,
                          bytes_text(static_cast<double>(texts.bytes())),
                          fmt::format("{} bytes", fixed_text(per_token, 2)), seconds_text(seconds),
                          fixed_text(rate, 1), threads_of(flags)),
              Json::object({{"output", flags.output},
                            {"tokens", count},
                            {"bytes", texts.bytes()},
                            {"bytes_per_token", per_token},
                            {"bytes_per_id", width},
                            {"vocabulary", tokenizer->vocabulary_size()},
                            {"seconds", seconds}})),
         flags, out);
  return 0;
}

std::vector<data::TokenId> given_ids(const TokenizerFlags& flags,
                                     const data::Tokenizer& tokenizer) {
  if (flags.files.empty()) {
    TY_REQUIRE(!flags.ids.empty(), "tokenizer decode: give --ids 1,2,3 or a file of tokens");
    std::vector<data::TokenId> ids;
    for (const int64_t id : flags.ids) {
      TY_REQUIRE(0 <= id && id < tokenizer.vocabulary_size(),
                 "token {} is outside of the vocabulary of {}", id, tokenizer.vocabulary_size());
      ids.push_back(static_cast<data::TokenId>(id));
    }
    return ids;
  }
  TY_REQUIRE(flags.files.size() == 1 && flags.ids.empty(),
             "tokenizer decode takes --ids or one file of tokens");
  return data::read_token_file(flags.files[0], tokenizer.vocabulary_size());
}

int decode(const TokenizerFlags& flags, std::ostream& out) {
  const std::unique_ptr<data::Tokenizer> tokenizer = given_tokenizer(flags);
  const std::vector<data::TokenId> ids = given_ids(flags, *tokenizer);
  const std::string text = tokenizer->decode(ids);
  if (!flags.output.empty()) {
    write_file(flags.output, text);
    render(said(fmt::format("{}: {} of text from {} tokens", flags.output,
                            bytes_text(static_cast<double>(text.size())),
                            with_commas(static_cast<int64_t>(ids.size()))),
                Json::object({{"output", flags.output},
                              {"bytes", static_cast<int64_t>(text.size())},
                              {"tokens", static_cast<int64_t>(ids.size())}})),
           flags, out);
    return 0;
  }
  render(said(printable(text), Json::object({{"text", made_utf8(text)}})), flags, out);
  return 0;
}

report::Table special_table(const data::Tokenizer& tokenizer) {
  report::Table table(
      {{"id"}, {"token", report::Align::kLeft, 40}, {"special", report::Align::kLeft}});
  for (const data::AddedToken& token : tokenizer.added().all()) {
    table.add_row(
        {fmt::format("{}", token.id), printable_line(token.content), token.special ? "yes" : "no"});
  }
  return table;
}

// How the tokenizer cuts a text, token by token.
report::Table piece_table(const data::Tokenizer& tokenizer, std::span<const data::TokenId> ids) {
  report::Table table({{"place"}, {"id"}, {"token", report::Align::kLeft, 40}});
  for (size_t i = 0; i < ids.size(); ++i) {
    table.add_row({fmt::format("{}", i), fmt::format("{}", ids[i]),
                   printable_line(*tokenizer.token_text(ids[i]))});
  }
  return table;
}

int inspect(const TokenizerFlags& flags, std::ostream& out) {
  TY_REQUIRE(flags.files.size() == 1, "tokenizer inspect takes one tokenizer, got {}",
             flags.files.size());
  const std::unique_ptr<data::Tokenizer> tokenizer =
      data::open_tokenizer(flags.files[0], flags.pattern);
  const std::optional<data::TokenId> end = tokenizer->end_of_text();
  report::Document document =
      said(fmt::format("{}: {}, {} tokens{}", flags.files[0], tokenizer->kind(),
                       with_commas(tokenizer->vocabulary_size()),
                       end ? fmt::format(", a text ends with {}", *end) : ""),
           Json::object({{"tokenizer", flags.files[0]},
                         {"kind", tokenizer->kind()},
                         {"vocabulary", tokenizer->vocabulary_size()},
                         {"added_tokens", tokenizer->added().json()}}));
  if (end) document.data["end_of_text"] = int64_t{*end};
  if (!tokenizer->added().all().empty()) document.blocks.emplace_back(special_table(*tokenizer));
  if (!flags.text.empty()) {
    std::vector<data::TokenId> ids;
    tokenizer->encode(flags.text, ids);
    document.blocks.emplace_back(piece_table(*tokenizer, ids));
    Json numbers = Json::array();
    for (const data::TokenId id : ids) numbers.push_back(int64_t{id});
    document.data["ids"] = std::move(numbers);
  }
  render(std::move(document), flags, out);
  return 0;
}

struct TokenizerAction {
  const char* name;
  int (*run)(const TokenizerFlags&, std::ostream&);
};
constexpr TokenizerAction kTokenizerActions[] = {
    {"train", train}, {"encode", encode}, {"decode", decode}, {"inspect", inspect}};

int tokenizer_command(const TokenizerFlags& flags, std::ostream& out) {
  std::vector<std::string> names;
  for (const TokenizerAction& action : kTokenizerActions) {
    if (flags.action == action.name) return action.run(flags, out);
    names.emplace_back(action.name);
  }
  throw_error("tokenizer: '{}' is not one of {}.{}", flags.action, join(names, ", "),
              did_you_mean(flags.action, names));
}

Runner setup_tokenizer(Args& args) {
  auto flags = std::make_shared<TokenizerFlags>();
  args.positional("ACTION", flags->action, "train, encode, decode or inspect");
  args.optional_positionals(
      "FILE", flags->files,
      "train, encode: text files or folders (.txt, .jsonl, .gz); decode: a file of tokens; "
      "inspect: a tokenizer");
  args.option("-t,--tokenizer", flags->tokenizer,
              "encode, decode: a tokenizer.json, ranks of tiktoken, or bytes");
  args.option("-o,--output", flags->output,
              "train: tok.json or tok.tiktoken; encode: F.bin, decode: F.txt");
  args.choice("--kind", flags->kind, {"bpe", "chars"},
              "train: byte-level BPE, or a token for each character");
  args.option("--vocab", flags->vocabulary,
              "train: vocabulary size, including bytes and special tokens");
  args.option("--min-count", flags->least_count,
              "train: merge only pairs that occur at least this often");
  args.option("--pattern", flags->pattern,
              "train, and ranks of tiktoken: how texts are split: gpt2, llama3, cl100k, qwen2 or "
              "o200k");
  args.repeated("--special", flags->specials,
                "train: a special token; absent: <|endoftext|>, which ends a document");
  args.option("--text", flags->text, "encode, inspect: text to encode");
  args.option("--ids", flags->ids, "decode: tokens to decode");
  args.flag("--frame", flags->with_frame, "encode: add the tokenizer's start and end tokens");
  args.option("--threads", flags->threads, "train, encode: 0 takes all processors");
  args.flag("--quiet", flags->quiet, "train: print no progress");
  args.own_flags([flags] { return flags->action; },
                 {{{"encode", "decode"}, {"tokenizer"}},
                  {{"train", "encode", "decode"}, {"output"}},
                  {{"train"}, {"kind", "vocab", "min-count", "special", "quiet"}},
                  {{"encode", "inspect"}, {"text"}},
                  {{"decode"}, {"ids"}},
                  {{"encode"}, {"frame"}},
                  {{"train", "encode"}, {"threads"}}});
  args.format(flags->format);
  return [flags](std::ostream& out) { return tokenizer_command(*flags, out); };
}

}  // namespace

extern const Command kTokenizer = {
    .name = "tokenizer",
    .group = "Train",
    .summary = "Train a tokenizer, and convert texts to tokens and back",
    .examples =
        "  trainyard tokenizer train --vocab 8192 corpus.txt -o tok.json\n"
        "  trainyard tokenizer train --kind chars corpus.txt -o chars.json\n"
        "  trainyard tokenizer train --pattern llama3 texts -o tok.tiktoken\n"
        "  trainyard tokenizer inspect tok.json --text 'It was a bright cold day.'\n"
        "  trainyard tokenizer encode corpus.txt --tokenizer tok.json -o corpus.bin\n"
        "  trainyard tokenizer encode --tokenizer tok.json --text 'Hello' --json\n"
        "  trainyard tokenizer decode --tokenizer tok.json --ids 15496,995\n",
    .setup = setup_tokenizer,
};

}  // namespace trainyard::cli
