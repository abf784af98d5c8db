#include "rl/replay/replay_folder.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "runs/crc32c.h"

namespace trainyard::rl {
namespace {

// As they lie in memory: a checkpoint is read by the same build on the same kind of machine.
template <typename Number>
void append_bytes(std::string& to, const Number* from, size_t count) {
  to.append(reinterpret_cast<const char*>(from), count * sizeof(Number));
}

template <typename Number>
std::vector<Number> numbers_of_bytes(const std::string& bytes) {
  std::vector<Number> numbers(bytes.size() / sizeof(Number));
  std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
  return numbers;
}

template <typename Parts>
Json parts_json(const Parts& parts) {
  Json list = Json::array();
  for (const auto& part : parts) {
    list.push_back(Json::object({{"file", part.file},
                                 {"first", part.first},
                                 {"end", part.end},
                                 {"crc32c", static_cast<int64_t>(part.crc)}}));
  }
  return list;
}

template <typename Part>
std::vector<Part> read_parts(const Json& list) {
  std::vector<Part> parts;
  for (const Json& item : list.items()) {
    parts.push_back({item.at("file").as_string(), item.at("first").as_int(),
                     item.at("end").as_int(), static_cast<uint32_t>(item.at("crc32c").as_int())});
  }
  return parts;
}

}  // namespace

ReplayFolder::ReplayFolder(std::filesystem::path folder) : folder_(std::move(folder)) {
  std::error_code problem;
  std::filesystem::create_directories(folder_, problem);
  if (problem) throw_failure("'{}' cannot be made: {}", folder_.string(), problem.message());
}

std::filesystem::path ReplayFolder::contents_file(int64_t step) const {
  return folder_ / fmt::format("contents-{:09}.json", step);
}

// The checksum stands in the contents file, so a part that is cut short is found before it is used.
ReplayFolder::Part ReplayFolder::save_part(const std::string& file, int64_t first, int64_t end,
                                           const std::string& bytes) {
  write_file(folder_ / file, bytes);
  bytes_written_ += static_cast<int64_t>(bytes.size());
  return {file, first, end, runs::crc32c(bytes)};
}

template <typename Item>
ReplayFolder::Parts ReplayFolder::save_parts(const char* kind, const Parts& known, int64_t first,
                                             int64_t end, Item&& item) {
  Parts parts;
  // Chunks begin at fixed numbers, so that most of a memory that only grows at its end is in files
  // which are there already and need not be written again.
  for (int64_t chunk = first / kReplayChunk * kReplayChunk; chunk < end; chunk += kReplayChunk) {
    const int64_t from = std::max(first, chunk);
    const int64_t to = std::min(end, chunk + kReplayChunk);
    // A part may begin earlier than needed: its older items have left the memory since, and are
    // skipped when it is read.
    const auto there = std::find_if(known.begin(), known.end(), [&](const Part& part) {
      return part.first <= from && part.end == to &&
             part.first / kReplayChunk * kReplayChunk == chunk;
    });
    if (there != known.end()) {
      parts.push_back(*there);
      continue;
    }
    std::string bytes;
    for (int64_t number = from; number < to; ++number) item(number, bytes);
    parts.push_back(save_part(fmt::format("{}-{}-{}.bin", kind, from, to), from, to, bytes));
  }
  return parts;
}

void ReplayFolder::save(const ReplayMemory& memory, int64_t step) {
  bytes_written_ = 0;
  const FrameStore& frames = memory.frames();
  frames_ = save_parts("frames", frames_, frames.begin(), frames.end(),
                       [&](int64_t number, std::string& to) {
                         const std::span<const std::byte> frame = frames.encoded(number);
                         append_bytes(to, frame.data(), frame.size());
                       });
  transitions_ = save_parts(
      "transitions", transitions_, memory.begin(), memory.end(),
      [&](int64_t number, std::string& to) { append_bytes(to, &memory.transition(number), 1); });
  // Priorities change everywhere, so they are written anew each time.
  const std::vector<double> priorities = memory.sampler().priorities();
  std::string bytes;
  append_bytes(bytes, priorities.data(), priorities.size());
  const Part order = save_part(fmt::format("priorities-{:09}.bin", step), 0,
                               static_cast<int64_t>(priorities.size()), bytes);
  const Json contents = Json::object({{"environment", memory.spec().name},
                                      {"shape", Json::array_of(memory.spec().shape.vector())},
                                      {"frame_bytes", frames.bytes_per_frame()},
                                      {"capacity", memory.capacity()},
                                      {"first_frame", frames.begin()},
                                      {"begin", memory.begin()},
                                      {"end", memory.end()},
                                      {"frames", parts_json(frames_)},
                                      {"transitions", parts_json(transitions_)},
                                      {"priorities", parts_json(Parts{order})}});
  // Last: only a contents file makes the parts a checkpoint.
  write_file(contents_file(step), contents.dump(-1) + "\n");
  remove_unused(step);
  last_step_ = step;
}

// A checkpoint that was under way may still need the contents before these.
void ReplayFolder::remove_unused(int64_t step) {
  std::set<std::string> used;
  for (const int64_t kept : {last_step_, step}) {
    if (kept < 0 || !std::filesystem::exists(contents_file(kept))) continue;
    used.insert(contents_file(kept).filename().string());
    const Json contents = Json::parse(read_file(contents_file(kept)), "contents");
    for (const char* kind : {"frames", "transitions", "priorities"}) {
      for (const Part& part : read_parts<Part>(contents.at(kind))) used.insert(part.file);
    }
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (!used.contains(entry.path().filename().string())) std::filesystem::remove(entry.path());
  }
}

std::string ReplayFolder::read_part(const Part& part) const {
  std::string bytes = read_file(folder_ / part.file);
  TY_REQUIRE(runs::crc32c(bytes) == part.crc,
             "'{}' is not what was written ({} bytes): it is cut short or damaged",
             (folder_ / part.file).string(), bytes.size());
  return bytes;
}

// Parts may hold items from before `begin`, which have left the memory since. The sizes stand in
// two places, and only files that agree with the contents may say how much is copied.
std::string ReplayFolder::read_items(const Parts& parts, int64_t begin, int64_t width) const {
  TY_REQUIRE(begin >= 0, "'{}' has items from number {} on, expected 0 or more", folder_.string(),
             begin);
  std::string items;
  int64_t next = begin;
  for (const Part& part : parts) {
    const std::string bytes = read_part(part);
    const auto held = static_cast<int64_t>(bytes.size());
    TY_REQUIRE(0 <= part.first && part.first <= next && next <= part.end,
               "'{}' holds items {} to {}, expected them from {} on",
               (folder_ / part.file).string(), part.first, part.end, next);
    TY_REQUIRE(held % width == 0 && held / width == part.end - part.first,
               "'{}' has {} bytes, expected {} items of {} bytes", (folder_ / part.file).string(),
               held, part.end - part.first, width);
    items.append(bytes, static_cast<size_t>((next - part.first) * width));
    next = part.end;
  }
  return items;
}

void ReplayFolder::restore(int64_t step, ReplayMemory& memory) {
  const std::filesystem::path file = contents_file(step);
  TY_REQUIRE(std::filesystem::exists(file), "there is no replay memory of step {}: '{}' is missing",
             step, file.string());
  const Json contents = Json::parse(read_file(file), file.string());
  const int64_t width = memory.frames().bytes_per_frame();
  TY_REQUIRE(contents.at("environment").as_string() == memory.spec().name &&
                 contents.at("frame_bytes").as_int() == width,
             "'{}' is the replay memory of {} with frames of {} bytes, expected {} with {}",
             file.string(), contents.at("environment").as_string(),
             contents.at("frame_bytes").as_int(), memory.spec().name, width);
  TY_REQUIRE(contents.at("capacity").as_int() == memory.capacity(),
             "'{}' holds up to {} transitions, this run {}", file.string(),
             contents.at("capacity").as_int(), memory.capacity());
  frames_ = read_parts<Part>(contents.at("frames"));
  transitions_ = read_parts<Part>(contents.at("transitions"));
  const int64_t first_frame = contents.at("first_frame").as_int();
  const std::string frames = read_items(frames_, first_frame, width);
  const int64_t begin = contents.at("begin").as_int();
  const auto transitions =
      numbers_of_bytes<Transition>(read_items(transitions_, begin, sizeof(Transition)));
  const int64_t end = contents.at("end").as_int();
  TY_REQUIRE(begin + static_cast<int64_t>(transitions.size()) == end,
             "'{}' has the transitions {} to {}, found {} of them", file.string(), begin, end,
             transitions.size());
  const Parts order = read_parts<Part>(contents.at("priorities"));
  TY_REQUIRE(order.size() == 1, "'{}' has {} files of priorities, expected 1", file.string(),
             order.size());
  const auto priorities = numbers_of_bytes<double>(read_items(order, 0, sizeof(double)));
  memory.restore(first_frame, std::as_bytes(std::span(frames)), begin, transitions, priorities);
  last_step_ = step;
}

}  // namespace trainyard::rl
