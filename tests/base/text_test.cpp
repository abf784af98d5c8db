#include "base/text.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/shell.h"

namespace trainyard {
namespace {

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(-1234567), "-1,234,567");
  EXPECT_EQ(si(25557032), "25.6M");
  EXPECT_EQ(si(999.9996), "1.00K");
  EXPECT_EQ(si(12), "12");
  EXPECT_EQ(bytes_text(574671232), "548 MiB");
  EXPECT_EQ(seconds_text(0.00456), "4.56 ms");
  EXPECT_EQ(seconds_text(725), "12 min 5 s");
  EXPECT_EQ(seconds_text(12000), "3 h 20 min");
}

TEST(Text, NearestNamesRankSlipsAndContinuations) {
  const std::vector<std::string> names = {"resnet18", "resnet50", "vgg16", "mobilenet_v2"};
  EXPECT_EQ(nearest_names("resnt50", names)[0], "resnet50");
  EXPECT_EQ(did_you_mean("vgg61", names), " Did you mean vgg16?");
  EXPECT_EQ(did_you_mean("transformer-xl", names), "");
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,,b", ','), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(join(split("a,,b", ','), ","), "a,,b");
}

TEST(Shell, WordsSurviveTheWayThereAndBack) {
  const std::vector<std::string> words = {"train", "--name", "", "it's \"two\" words",
                                          "a\\b",  "k=1,2"};
  std::string line;
  for (const std::string& word : words) line += shell_word(word) + " ";
  EXPECT_EQ(shell_words(line), words);
  EXPECT_EQ(shell_words("a  \"b c\"\\ d"), (std::vector<std::string>{"a", "b c d"}));
  EXPECT_THROW(shell_words("a 'b"), Error);
}

}  // namespace
}  // namespace trainyard
