#include "base/printable.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

TEST(Printable, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(printable("\x1b[2Jname\x07"), "\\x1b[2Jname\\x07");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b") << "CSI as one character";
  EXPECT_EQ(printable("\x7f\r\b"), "\\x7f\\x0d\\x08");
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u202eb")
      << "right-to-left override";
}

TEST(Printable, LeavesTextAsItIs) {
  EXPECT_EQ(printable("caf\u00e9 \u2192 \u2588 \U0001f600\n\tx"),
            "caf\u00e9 \u2192 \u2588 \U0001f600\n\tx");
  EXPECT_EQ(printable_line("a\n\tb"), "a\\n\\tb");
}

TEST(Printable, EscapesBytesThatAreNoText) {
  EXPECT_EQ(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf") << "an overlong form";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
}

}  // namespace
}  // namespace trainyard
