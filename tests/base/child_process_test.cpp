#include "base/child_process.h"

#include <csignal>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
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

TEST(ChildProcess, ASignalEndsIt) {
  const ChildProcess child(shell("echo ready; exec sleep 60"), {.own_group = true});
  std::string out;
  while (out.empty() && child.read_some(out, kTickMs)) {
  }
  child.send(SIGTERM);
  EXPECT_EQ(child.wait(), 128 + SIGTERM);
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
