// Runs every case of every operator, and sees to it that there is one.
#include "ops/cases.h"

#include <gtest/gtest.h>

#include "ops/control_flow.h"
#include "ops/op_def.h"

namespace trainyard::testing {
namespace {

class OpCaseTest : public ::testing::TestWithParam<const ops::OpDef*> {};

TEST_P(OpCaseTest, AllHold) {
  int found = 0;
  for (const OpCase& c : all_cases()) {
    if (c.op != GetParam()->name) continue;
    ++found;
    check_case(c);
  }
  // What only differentiation makes is checked with it, against differences.
  const std::string_view name = GetParam()->name;
  const bool for_training = name.find("Grad") != name.npos || name.ends_with("Training");
  // What has a body is checked with the runtime, which executes it.
  EXPECT_TRUE(found > 0 || for_training || ops::is_control_flow(name)) << "add a case to tests/ops";
}

INSTANTIATE_TEST_SUITE_P(Op, OpCaseTest, ::testing::ValuesIn(ops::all_ops()),
                         [](const auto& row) { return std::string(row.param->name); });

TEST(OpCases, NameOperatorsThatExist) {
  for (const OpCase& c : all_cases()) EXPECT_NE(ops::find_op(c.op), nullptr) << c.op;
}

}  // namespace
}  // namespace trainyard::testing
