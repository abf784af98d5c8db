#include "base/confine.h"

#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace trainyard {
namespace {

bool can_write(const std::filesystem::path& file) {
  std::ofstream out(file);
  return static_cast<bool>(out << "text" << std::flush);
}

bool shell_can(const std::string& command) {
  return std::system((command + " 2> /dev/null").c_str()) == 0;
}

TEST(Confine, WritesStayBelowTheFolders) {
  const TemporaryFolder folder("confine");
  const std::filesystem::path inside = folder / "inside";
  const std::filesystem::path outside = folder / "outside";
  std::filesystem::create_directories(inside);
  ASSERT_TRUE(can_write(outside));
  // Its own thread: this one must stay free.
  std::thread([&] {
    const std::vector<std::filesystem::path> allowed = {inside, "/dev"};
    if (!confine_writes(allowed)) GTEST_SKIP() << "no Landlock here";
    EXPECT_TRUE(can_write(inside / "a"));
    EXPECT_FALSE(can_write(outside));
    EXPECT_FALSE(can_write(inside / "../b"));
    EXPECT_TRUE(std::ifstream(outside).good()) << "reading stays";
    // What it starts is confined too.
    EXPECT_TRUE(shell_can("touch " + (inside / "c").string()));
    EXPECT_FALSE(shell_can("rm " + outside.string()));
    EXPECT_FALSE(shell_can("mv " + (inside / "c").string() + " " + (folder / "d").string()));
  }).join();
  EXPECT_TRUE(can_write(outside));
}

}  // namespace
}  // namespace trainyard
