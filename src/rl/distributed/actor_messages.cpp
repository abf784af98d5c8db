#include "rl/distributed/actor_messages.h"

#include <cstring>
#include <type_traits>

#include "base/error.h"

namespace trainyard::rl {
namespace {

template <typename Item>
void append_list(std::vector<std::byte>& to, const std::vector<Item>& items) {
  static_assert(std::is_trivially_copyable_v<Item>);
  const auto count = static_cast<int64_t>(items.size());
  const auto head = std::as_bytes(std::span(&count, 1));
  const auto body = std::as_bytes(std::span(items));
  to.insert(to.end(), head.begin(), head.end());
  to.insert(to.end(), body.begin(), body.end());
}

template <typename Item>
std::vector<Item> take_list(std::span<const std::byte>& from) {
  int64_t count = 0;
  if (from.size() < sizeof(count)) throw_failure("an actor's message is cut short");
  std::memcpy(&count, from.data(), sizeof(count));
  from = from.subspan(sizeof(count));
  // Divided, since the product of a count that is wrong may be a small number.
  if (count < 0 || static_cast<size_t>(count) > from.size() / sizeof(Item)) {
    throw_failure("an actor's message is cut short");
  }
  const size_t bytes = static_cast<size_t>(count) * sizeof(Item);
  std::vector<Item> items(static_cast<size_t>(count));
  if (bytes > 0) std::memcpy(items.data(), from.data(), bytes);
  from = from.subspan(bytes);
  return items;
}

// A learner uses frames and actions as places in arrays.
void require_consistent(const ExperienceBatch& parcel, const ReplayMemory& memory) {
  const auto width = static_cast<size_t>(memory.frames().bytes_per_frame());
  if (parcel.frames.size() % width != 0 || parcel.errors.size() != parcel.transitions.size()) {
    throw_failure("an actor's message has {} transitions, {} errors and {} bytes of frames of {}",
                  parcel.transitions.size(), parcel.errors.size(), parcel.frames.size(), width);
  }
  const auto count = static_cast<int64_t>(parcel.frames.size() / width);
  for (const Transition& it : parcel.transitions) {
    const bool known = it.frame >= 0 && it.frame < count && it.next_frame >= 0 &&
                       it.next_frame < count && it.action >= 0 && it.action < memory.spec().actions;
    if (known) continue;
    throw_failure("an actor's message has action {} between the frames {} and {} of {}", it.action,
                  it.frame, it.next_frame, count);
  }
}

}  // namespace

std::vector<std::byte> ExperienceBatch::bytes() const {
  std::vector<std::byte> all;
  append_list(all, frames);
  append_list(all, transitions);
  append_list(all, errors);
  append_list(all, episodes);
  return all;
}

ExperienceBatch ExperienceBatch::from_bytes(std::span<const std::byte> bytes) {
  ExperienceBatch parcel;
  parcel.frames = take_list<std::byte>(bytes);
  parcel.transitions = take_list<Transition>(bytes);
  parcel.errors = take_list<double>(bytes);
  parcel.episodes = take_list<Episode>(bytes);
  if (!bytes.empty()) throw_failure("an actor's message has {} bytes too many", bytes.size());
  return parcel;
}

// Actors number frames from the start of their parcel; here they continue those of the memory.
void unpack(const ExperienceBatch& parcel, ReplayMemory& memory) {
  const auto width = static_cast<size_t>(memory.frames().bytes_per_frame());
  require_consistent(parcel, memory);
  const int64_t first = memory.frames().end();
  for (size_t at = 0; at < parcel.frames.size(); at += width) {
    memory.add_encoded_frame(std::span(parcel.frames).subspan(at, width));
  }
  for (size_t i = 0; i < parcel.transitions.size(); ++i) {
    Transition it = parcel.transitions[i];
    it.frame += first;
    it.next_frame += first;
    memory.add(it, parcel.errors[i]);
  }
}

}  // namespace trainyard::rl
