#include "serve/scheduling/response_cache.h"

#include <fmt/format.h>

namespace trainyard::serve {
namespace {

InferResult copy_of(const InferResult& result) {
  InferResult copy;
  for (const OutputTensor& output : result.outputs) {
    copy.outputs.push_back({output.name, output.data.clone(), output.texts});
  }
  copy.model = result.model;
  copy.version = result.version;
  copy.batch = result.batch;
  copy.has_rows = result.has_rows;
  return copy;
}

std::string prefix_of(std::string_view model, std::string_view version) {
  return fmt::format("{}\n{}\n", model, version);
}

}  // namespace

std::string ResponseCache::key(std::string_view model, std::string_view version, const Job& job) {
  std::string key = prefix_of(model, version);
  for (size_t i = 0; i < job.shapes.size(); ++i) {
    key += job.shapes[i].to_string() + "\n";
    const InputTensor& input = job.request.inputs[job.sources[i]];
    key.append(reinterpret_cast<const char*>(input.data), input.bytes);
    for (const std::string& text : input.texts) key += fmt::format("{}\n{}", text.size(), text);
  }
  return key;
}

std::optional<InferResult> ResponseCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return copy_of(entries_.front().result);
}

void ResponseCache::add(std::string key, const InferResult& result) {
  auto bytes = static_cast<int64_t>(key.size() + sizeof(Entry));
  for (const OutputTensor& output : result.outputs) {
    bytes += output.data.num_bytes();
    for (const std::string& text : output.texts) {
      bytes += static_cast<int64_t>(sizeof text + text.size());
    }
  }
  const std::lock_guard lock(mutex_);
  if (bytes > max_bytes_ || by_key_.contains(key)) return;
  while (bytes_ + bytes > max_bytes_) drop(std::prev(entries_.end()));
  entries_.push_front({std::move(key), copy_of(result), bytes});
  by_key_.emplace(entries_.front().key, entries_.begin());
  bytes_ += bytes;
}

void ResponseCache::forget(std::string_view model, std::string_view version) {
  const std::string prefix = prefix_of(model, version);
  const std::lock_guard lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto entry = it++;
    if (entry->key.starts_with(prefix)) drop(entry);
  }
}

int64_t ResponseCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void ResponseCache::drop(std::list<Entry>::iterator entry) {
  bytes_ -= entry->bytes;
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace trainyard::serve
