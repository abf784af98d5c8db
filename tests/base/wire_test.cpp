#include "base/wire.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"

namespace trainyard {
namespace {

Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

TEST(Wire, FieldsComeBackAsTheyWereWritten) {
  std::string message;
  append_tag(message, 1, WireType::kVarint);
  append_varint(message, UINT64_MAX);
  append_tag(message, 2, WireType::kFixed64);
  message += "12345678";
  append_bytes_header(message, 300, 5);
  EXPECT_EQ(bytes_header_size(300, 5), message.size() - 20);
  message += "hello";
  append_tag(message, 4, WireType::kFixed32);
  message += "1234";

  WireReader reader(bytes_of(message));
  EXPECT_EQ(reader.next().number, 1U);
  EXPECT_EQ(reader.next().type, WireType::kFixed64);
  const WireField text = reader.next();
  EXPECT_EQ(text.number, 300U);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(text.content.data()), text.content.size()),
            "hello");
  EXPECT_EQ(text.whole.size(), 8U);
  EXPECT_EQ(reader.next().type, WireType::kFixed32);
  EXPECT_TRUE(reader.done());
}

TEST(Wire, PackedNumbersAreReadOneByOne) {
  std::string numbers;
  const uint64_t values[] = {0, 127, 128, 1'000'000, UINT64_MAX};
  for (const uint64_t value : values) append_varint(numbers, value);
  WireReader reader(bytes_of(numbers));
  for (const uint64_t value : values) EXPECT_EQ(reader.varint(), value);
  EXPECT_TRUE(reader.done());
}

TEST(Wire, DamageIsNamedWithItsByte) {
  const auto problem = [](const std::string& message) {
    return message_of([&] {
      WireReader reader(bytes_of(message), 100);
      while (!reader.done()) reader.next();
    });
  };
  std::string cut;
  append_bytes_header(cut, 1, 10);
  cut += "abc";
  EXPECT_EQ(problem(cut),
            "the file is cut off or damaged: a field at byte 102 needs 10 bytes, 3 are left");
  EXPECT_NE(problem(std::string(11, '\xff')).find("a number that never ends"), std::string::npos);
  EXPECT_NE(problem(std::string(1, '\0')).find("no field has the tag 0"), std::string::npos);
  EXPECT_NE(problem("\x0b").find("byte 100 is not part of a protobuf message: wire type 3"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
