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

}  // namespace
}  // namespace trainyard
