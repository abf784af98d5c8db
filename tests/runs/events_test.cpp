#include "runs/events.h"

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "runs/crc32c.h"
#include "support/temporary_folder.h"

namespace trainyard::runs {
namespace {

// Published check values (RFC 3720, appendix B.4, and the usual "123456789").
TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
}

template <typename T>
T take(std::string_view& bytes) {
  T value{};
  TY_REQUIRE(bytes.size() >= sizeof value, "cut short");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::string_view take_bytes(std::string_view& bytes, uint64_t count) {
  TY_REQUIRE(bytes.size() >= count, "cut short");
  const std::string_view taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

uint32_t unmasked(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17U) | (rotated << 15U);
}

std::vector<std::string> read_records(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  std::string_view rest = file;
  std::vector<std::string> records;
  while (!rest.empty()) {
    const std::string_view length_bytes = rest.substr(0, 8);
    const auto length = take<uint64_t>(rest);
    EXPECT_EQ(unmasked(take<uint32_t>(rest)), crc32c(length_bytes));
    records.emplace_back(take_bytes(rest, length));
    EXPECT_EQ(unmasked(take<uint32_t>(rest)), crc32c(records.back()));
  }
  return records;
}

uint64_t take_varint(std::string_view& bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = take<uint8_t>(bytes);
    value |= static_cast<uint64_t>(byte & 0x7fU) << shift;
    if (byte < 0x80U) return value;
  }
}

// The fields of a message: numbers as their bytes, in order.
std::multimap<uint64_t, std::string> fields(std::string_view message) {
  std::multimap<uint64_t, std::string> found;
  while (!message.empty()) {
    const uint64_t key = take_varint(message);
    const uint64_t wire = key & 7U;
    uint64_t size = wire == 1 ? 8 : 4;
    if (wire == 0) {
      found.emplace(key >> 3U, std::to_string(take_varint(message)));
      continue;
    }
    if (wire == 2) size = take_varint(message);
    found.emplace(key >> 3U, take_bytes(message, size));
  }
  return found;
}

std::string field(const std::string& message, uint64_t number) {
  const auto all = fields(message);
  EXPECT_EQ(all.count(number), 1U) << number;
  return all.find(number)->second;
}

TEST(Events, ANewRunHasAVersionAndScalars) {
  const TemporaryFolder folder("events_test");
  EventWriter writer(folder.path(), 0);
  EXPECT_TRUE(writer.path().filename().string().starts_with("events.out.tfevents."));
  writer.write(300, std::vector<Scalar>{{"train/loss", 0.25}, {"train/accuracy", 0.5}});

  const std::vector<std::string> records = read_records(writer.path());
  ASSERT_EQ(records.size(), 3U);
  EXPECT_EQ(field(records[0], 3), "brain.Event:2");
  EXPECT_EQ(field(records[1], 2), "1");
  EXPECT_EQ(field(records[2], 2), "300");
  const std::string wall_time = field(records[2], 1);
  std::string_view wall_bytes = wall_time;
  EXPECT_GT(take<double>(wall_bytes), 1.7e9);
  const auto values = fields(field(records[2], 5));
  ASSERT_EQ(values.count(1), 2U);
  const std::string& loss = values.begin()->second;
  EXPECT_EQ(field(loss, 1), "train/loss");
  const std::string simple = field(loss, 2);
  std::string_view simple_bytes = simple;
  EXPECT_EQ(take<float>(simple_bytes), 0.25F);
}

TEST(Events, AResumedRunWritesAnotherFileAndPurgesLaterSteps) {
  const TemporaryFolder folder("events_test");
  const EventWriter first(folder.path(), 0);
  const EventWriter second(folder.path(), 120);
  EXPECT_NE(first.path(), second.path());
  const std::vector<std::string> records = read_records(second.path());
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(field(records[1], 2), "121");
  EXPECT_EQ(field(field(records[1], 7), 1), "1");
}

TEST(Events, AFolderThatIsNotThereIsAFailure) {
  const TemporaryFolder folder("events_test");
  EXPECT_THROW(EventWriter(folder / "missing", 0), Failure);
}

TEST(Events, SettingsPicturesAndHistogramsAreWrittenForTensorBoard) {
  const TemporaryFolder folder("events_more");
  EventWriter writer(folder.path(), 0);
  writer.write_settings(
      {{"model", Setting("lenet5")}, {"batch", Setting(128.0)}, {"flag", Setting(true)}});
  writer.write_picture(3, "test/confusion", "PNG bytes", 20, 30);
  const std::vector<float> numbers = {0, 1, 1, 2, INFINITY};
  writer.write_histogram(4, "state/w", numbers);
  writer.write_histogram(4, "state/nothing", std::vector<float>{NAN});
  const std::vector<std::string> records = read_records(writer.path());
  ASSERT_EQ(records.size(), 5U) << "two of the file, and three";
  EXPECT_NE(records[2].find("_hparams_/session_start_info"), std::string::npos);
  EXPECT_NE(records[2].find("lenet5"), std::string::npos);
  EXPECT_NE(records[3].find("PNG bytes"), std::string::npos);
  // Four numbers: minimum 0, maximum 2, count 4 as doubles.
  const double count = 4;
  EXPECT_NE(records[4].find(std::string_view(reinterpret_cast<const char*>(&count), sizeof count)),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard::runs
