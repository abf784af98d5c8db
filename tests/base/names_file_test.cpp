#include "base/names_file.h"

#include <unistd.h>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"

namespace trainyard {
namespace {

class NamesFileTest : public ::testing::Test {
 protected:
  ~NamesFileTest() override { std::filesystem::remove(path_); }
  std::vector<std::string> names_in(std::string_view text) const {
    write_file(path_, text);
    return read_names(path_);
  }
  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("trainyard_names_test." + std::to_string(getpid()));
};

TEST_F(NamesFileTest, TakesLinesOfEitherKind) {
  const std::vector<std::string> expected = {"cat", "", "dog"};
  EXPECT_EQ(names_in("cat\n\ndog"), expected);
  EXPECT_EQ(names_in("cat\r\n\r\ndog\r\n\r\n"), expected);
}

TEST_F(NamesFileTest, RefusesAFileWithoutNames) {
  EXPECT_THROW(names_in(""), Error);
  EXPECT_THROW(names_in("\r\n\n"), Error);
}

TEST_F(NamesFileTest, DropsNumbersOfLinesAlone) {
  const auto dropped = [](std::vector<std::string> names) {
    drop_line_numbers(names);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(dropped({"0  tench", "1: shark", " 10\t3D printer"}),
            (Names{"tench", "shark", "3D printer"}));
  for (const Names& plain :
       {Names{"0", "1", "10"}, Names{"3D printer", "4D film"}, Names{"cat", "3 musketeers"},
        Names{"1 cat", "", "2 dog"}, Names{"1 cat", "2: "}}) {
    EXPECT_EQ(dropped(plain), plain);
  }
}

}  // namespace
}  // namespace trainyard
