// What the program knows of the machine and the terminal it runs on.
#include <vector>

#include <gtest/gtest.h>

#include "base/machine_facts.h"
#include "base/terminal.h"
#include "support/columns.h"

namespace trainyard {
namespace {

TEST(MachineFacts, NamesTheMachine) {
  const Json facts = machine_facts();
  ASSERT_TRUE(facts.is_object());
  for (const auto& [name, value] : facts.members()) {
    const std::string text = value.is_string() ? value.as_string() : value.dump(-1);
    EXPECT_FALSE(text.empty() || text == "0") << name;
  }
  EXPECT_GE(facts.members().size(), 6U);
}

TEST(MachineFacts, MemoryGrowsWithWhatIsHeld) {
  constexpr int64_t kBytes = int64_t{64} << 20;
  const int64_t before = resident_bytes();
  const std::vector<char> held(kBytes, 1);
  // Clang leaves out memory whose address nobody sees.
  const char* volatile seen = held.data();
  EXPECT_GT(resident_bytes(), before + kBytes / 2) << static_cast<const void*>(seen);
  EXPECT_GE(load_average(), 0);
}

TEST(Terminal, ColumnsThatMakeNoSenseAreNoLimit) {
  {
    const Columns some(77);
    EXPECT_EQ(terminal_columns(), 77U);
  }
  {
    const Columns few(3);
    EXPECT_EQ(terminal_columns(), 0U);
  }
  {
    const Columns many(1'000'000);
    EXPECT_EQ(terminal_columns(), 0U);
  }
}

}  // namespace
}  // namespace trainyard
