#include "base/yaml.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_message.h"

namespace trainyard {
namespace {

TEST(Yaml, ReadsScalarsMapsAndLists) {
  const auto document = YamlDocument::parse(
      "name: k80\nclock: 875\nbandwidth: 240.5\nflag: true\nquoted: \"12\"\nlist: [1, 2]\n", "d");
  const YamlView root = document->root();
  EXPECT_EQ(root.at("name").text(), "k80");
  EXPECT_EQ(root.at("clock").integer(), 875);
  EXPECT_DOUBLE_EQ(root.at("bandwidth").number(), 240.5);
  EXPECT_TRUE(root.at("flag").boolean());
  EXPECT_TRUE(root.at("quoted").json().is_string());
  EXPECT_EQ(root.at("list").items()[1].integer(), 2);
  EXPECT_FALSE(root.find("absent"));
}

TEST(Yaml, WrongFieldsAreNamedWithFileAndLine) {
  const auto document = YamlDocument::parse("k80:\n  memory: much\n  peak: -1\n", "mine.yaml");
  const YamlView k80 = document->root().at("k80");
  EXPECT_EQ(message_of([&] { k80.at("memory").number(); }),
            "mine.yaml:2: field 'k80.memory': expected a number, found \"much\"");
  EXPECT_EQ(message_of([&] { k80.at("peak").positive(); }),
            "mine.yaml:3: field 'k80.peak': expected a number above 0, found -1");
  EXPECT_EQ(message_of([&] { k80.at("price"); }), "mine.yaml:1: field 'k80': 'price' is missing");
  EXPECT_NE(message_of([&] {
              k80.only({"memory", "peek"});
            }).find("Did you mean peek"),
            std::string::npos);
}

TEST(Yaml, MalformedTextAndRepeatedKeysAreErrors) {
  EXPECT_NE(message_of([] { YamlDocument::parse("a: [1, 2\nb: 3", "f"); }).find("not valid YAML"),
            std::string::npos);
  EXPECT_EQ(message_of([] { YamlDocument::parse("a: 1\na: 2", "f"); }),
            "f:2: key 'a' appears twice");
  EXPECT_NE(message_of([] { YamlDocument::parse(std::string(100, '['), "f"); }), "no error");
}

// Nine lines that mean 3 * 10^8 values.
TEST(Yaml, FallbacksAreForWhatIsAbsentNotForWhatIsWrong) {
  const auto document = YamlDocument::parse("a: 2\nb: words\nc: true\nd: -1\n", "my.yaml");
  const YamlView root = document->root();
  EXPECT_EQ(root.number_or("a", 5), 2);
  EXPECT_EQ(root.number_or("z", 5), 5);
  EXPECT_EQ(root.text_or("b", "x"), "words");
  EXPECT_EQ(root.text_or("z", "x"), "x");
  EXPECT_TRUE(root.at("c").boolean());
  EXPECT_EQ(root.at("a").positive(), 2);
  EXPECT_THROW(root.number_or("b", 5), Error);
  EXPECT_THROW(root.at("b").integer(), Error);
  EXPECT_THROW(root.at("a").boolean(), Error);
  EXPECT_THROW(root.at("d").positive(), Error);
  EXPECT_EQ(root.count_or("a", 5, 1, 2), 2);
  EXPECT_EQ(root.count_or("z", 5, 1, 2), 5);
  EXPECT_EQ(message_of([&] { root.at("d").count(0, 9); }),
            "my.yaml:4: field 'd': is -1, expected 0 to 9");
  EXPECT_THROW(root.at("a").count(3, 9), Error);
  EXPECT_THROW(root.at("a").members(), Error);
  EXPECT_THROW(root.items(), Error);
  EXPECT_THROW(root.at("z"), Error);
}

TEST(Yaml, StrangersHaveNoAliases) {
  EXPECT_EQ(YamlDocument::parse("a: &x 1\nb: *x\n", "mine.yaml")->root().at("b").integer(), 1);
  EXPECT_THROW(YamlDocument::parse_without_aliases("a: &x 1\nb: *x\n", "theirs.yaml"), Error);
}

TEST(Yaml, AliasesThatMultiplyAreRefused) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char name = 'b'; name <= 'i'; ++name) {
    bomb += fmt::format("{0}: &{0} [*{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}, *{1}]\n", name,
                        static_cast<char>(name - 1));
  }
  EXPECT_NE(
      message_of([&] { YamlDocument::parse(bomb, "bomb.yaml"); }).find("more than 100000 values"),
      std::string::npos);
  EXPECT_NE(message_of([] { YamlDocument::parse("&a [*a, *a]", "f"); }), "no error");
  EXPECT_EQ(YamlDocument::parse("a: &a [1, 2]\nb: *a", "f")->root().at("b").items().size(), 2U);
}

TEST(Yaml, SizeIsLimited) {
  EXPECT_NE(message_of([] {
              YamlDocument::parse("a: " + std::string(size_t{5} << 20, 'x'), "f");
            }).find("expected at most"),
            std::string::npos);
}

}  // namespace
}  // namespace trainyard
