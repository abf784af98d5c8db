#include "base/child_process.h"

#include <csignal>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/process_ends.h"
#include "support/temporary_folder.h"

namespace trainyard {
namespace {

constexpr int kTickMs = 1000;

std::vector<std::string> shell(const char* line) {
  return {"sh", "-c", line};
}

TEST(ChildProcess, OutputLogVariablesAndExitCode) {
  const TemporaryFolder folder("child");
  const ChildProcess child(shell("echo $WORD; echo trouble >&2; cat; exit 3"),
                           {.variables = {"WORD=hello"}, .log = folder / "log"});
  std::string out;
  while (child.read_some(out, kTickMs)) {
  }
  EXPECT_EQ(child.wait(), 3);
  EXPECT_EQ(out, "hello\n");
  EXPECT_EQ(read_file(folder / "log"), "trouble\n");
}

TEST(ChildProcess, ALogIsWrittenThroughNoLink) {
  const TemporaryFolder folder("child_process_test");
  write_file(folder / "precious", "mine\n");
  std::filesystem::create_symlink(folder / "precious", folder / "log");
  const std::vector<std::string> command = {"true"};
  EXPECT_THROW(ChildProcess(command, {.log = folder / "log"}), Failure);
  EXPECT_EQ(read_file(folder / "precious"), "mine\n");
}

TEST(ChildProcess, ASignalEndsIt) {
  const ChildProcess child(shell("echo ready; exec sleep 60"), {.own_group = true});
  std::string out;
  while (out.empty() && child.read_some(out, kTickMs)) {
  }
  child.send(SIGTERM);
  EXPECT_EQ(child.wait(), 128 + SIGTERM);
}

// What `child` wrote until `word` came, or until nobody would wait any longer.
std::string read_until(const ChildProcess& child, std::string_view word) {
  constexpr int kMostTicks = 30;
  std::string out;
  for (int i = 0; i < kMostTicks && out.find(word) == std::string::npos; ++i) {
    if (!child.read_some(out, kTickMs)) break;
  }
  return out;
}

TEST(ChildProcess, OnlyChildrenThatListenGetASignal) {
  // Other tests of this program may have left it ignored, which shells inherit and cannot change.
  std::signal(SIGUSR1, SIG_DFL);
  // The one without a handler would die of it.
  const ChildProcess child(shell("sleep 60 & deaf=$!; "
                                 "sh -c 'trap \"echo heard; exit\" USR1; echo ready; "
                                 "while :; do sleep 0.05; done' & wait $!; "
                                 "kill -0 $deaf && echo alive; kill $deaf; exit 0"),
                           {.own_group = true});
  read_until(child, "ready");
  child.send_to_listening_children(SIGUSR1);
  const std::string out = read_until(child, "alive");
  EXPECT_NE(out.find("heard"), std::string::npos) << out;
  EXPECT_NE(out.find("alive"), std::string::npos) << out;
  child.kill_with_children();
  child.wait();
}

TEST(ChildProcess, IsKilledWithItsChildren) {
  // Often: it would end well if it noticed the end of its child first.
  for (int round = 0; round < 10; ++round) {
    const ChildProcess child(
        shell("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; "
              "done' & wait"),
        {.own_group = true});
    const pid_t grandchild = std::stoi(read_until(child, "\n"));
    child.send(SIGTERM);
    child.kill_with_children();
    EXPECT_EQ(child.wait(), 128 + SIGKILL);
    EXPECT_TRUE(process_ends(grandchild));
  }
}

TEST(ChildProcess, AProgramThatIsNotThereIsNamed) {
  try {
    const std::vector<std::string> words = {"no-such-program"};
    const ChildProcess child(words, {});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "no-such-program cannot be started: No such file or directory");
  }
}

}  // namespace
}  // namespace trainyard
