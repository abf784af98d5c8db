#include "data/text/word_counts.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "data/text/run_threads.h"

namespace trainyard::data {
namespace {

constexpr size_t kCountedBytes = size_t{1} << 21;

using Counts = std::unordered_map<std::string_view, int64_t>;

void count_part(std::string_view text, SplitRule rule, Counts& counts) {
  for (size_t at = 0; at < text.size();) {
    const TextPiece piece = next_piece(rule, text, at);
    if (piece.kept) ++counts[text.substr(at, piece.end - at)];
    at = piece.end;
  }
}

}  // namespace

std::vector<std::string_view> cut_texts(std::span<const std::string_view> texts, size_t bytes) {
  std::vector<std::string_view> parts;
  for (std::string_view text : texts) {
    while (!text.empty()) {
      const size_t end = text.size() <= bytes ? text.size() : cut_place(text, bytes);
      parts.push_back(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  return parts;
}

std::vector<WordCount> count_words(std::span<const std::string_view> texts, SplitRule rule,
                                   int64_t threads, const ShareDone& done) {
  const std::vector<std::string_view> parts = cut_texts(texts, kCountedBytes);
  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t finished = 0;
  Counts total;
  run_threads(threads, [&] {
    Counts counts;
    for (size_t i = next++; i < parts.size(); i = next++) {
      count_part(parts[i], rule, counts);
      const std::lock_guard lock(mutex);
      ++finished;
      if (done) done(static_cast<double>(finished) / static_cast<double>(parts.size()));
    }
    const std::lock_guard lock(mutex);
    for (const auto& [word, count] : counts) total[word] += count;
  });
  std::vector<WordCount> words;
  words.reserve(total.size());
  for (const auto& [word, count] : total) words.push_back({word, count});
  std::sort(words.begin(), words.end(),
            [](const WordCount& a, const WordCount& b) { return a.word < b.word; });
  return words;
}

}  // namespace trainyard::data
