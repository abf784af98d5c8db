#include "engine/device/printed_rows.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/file.h"
#include "support/temporary_folder.h"

namespace trainyard::device {
namespace {

constexpr const char* kHeadingLine =
    "program,launch,memory,elements,to_device_ms,kernel_ms,from_device_ms,result\n";

std::vector<VectorRow> read_lines(const std::string& lines) {
  const TemporaryFolder folder("printed");
  const auto file = folder.path() / "rows.csv";
  write_file(file, lines);
  return read_printed_rows(file);
}

TEST(PrintedRows, OfSeveralProgramsInOneFile) {
  const auto rows = read_lines(std::string(kHeadingLine) +
                               "add.cpp,1 thread,host,1000,0,0.5,0,right\n" + kHeadingLine +
                               "add.cu,Nx256,copies,1000,2,0.25,1,right\n"
                               "add_unified.cu,Nx256,prefetched,1000,0,0.25,0,wrong\n");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].device, "add.cpp");
  EXPECT_EQ(rows[0].what.memory, "host");
  EXPECT_DOUBLE_EQ(rows[1].total_s(), 3.25e-3);
  EXPECT_EQ(rows[2].what.memory, "unified");
  EXPECT_EQ(rows[2].what.sharing, "prefetched");
  EXPECT_TRUE(rows[1].timing.verified);
  EXPECT_FALSE(rows[2].timing.verified);
}

TEST(PrintedRows, SayWhichLineIsWrong) {
  for (const char* line : {"a,1x1,copies,0,0,1,0,right\n", "a,1x1,copies,5,0,-1,0,right\n",
                           "a,1x1,somewhere,5,0,1,0,right\n", "a,1x1,copies,5,0,x,0,right\n"}) {
    try {
      read_lines(std::string(kHeadingLine) + line);
      ADD_FAILURE() << line;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("rows.csv:2"), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(read_lines("program,launch\na,b\n"), Error);
}

}  // namespace
}  // namespace trainyard::device
