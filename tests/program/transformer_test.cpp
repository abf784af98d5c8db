// `trainyard transformer` as users call it.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/run_program.h"

namespace trainyard::cli {
namespace {

TEST(TransformerCommand, JsonHasTimeAndMemory) {
  const Outcome outcome =
      run({"transformer", "predict", "llama-3-8b", "--device", "h100", "--workers", "64",
           "--tensor", "4", "--pipeline", "2", "--batch", "128", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json = Json::parse(outcome.out, "output");
  EXPECT_EQ(json.at("parameters").as_int(), 8030261248);
  EXPECT_TRUE(json.at("fits").as_bool());
  EXPECT_LT(json.at("tokens_per_s_low").as_number(), json.at("tokens_per_s").as_number());
  EXPECT_GT(json.at("tokens_per_s_high").as_number(), json.at("tokens_per_s").as_number());
}

TEST(TransformerCommand, WhatCannotBeIsRefusedWithWhatCan) {
  const Outcome outcome =
      run({"transformer", "predict", "llama-3-8b", "--workers", "64", "--tensor", "3"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("tensor 4"), std::string::npos) << outcome.err;
  EXPECT_EQ(run({"transformer", "predict", "llama-9"}).code, 2);
  EXPECT_EQ(run({"transformer", "fly"}).code, 2);
  EXPECT_EQ(run({"transformer", "predict", "gpt2", "--device", "a100", "--precision", "fp8"}).code,
            2);
  EXPECT_EQ(run({"transformer", "predict", "gpt2", "--layers", "-1"}).code, 2);
  EXPECT_EQ(run({"transformer", "plan", "gpt2", "--workers", "0"}).code, 2);
}

TEST(TransformerCommand, SizesMakeAModel) {
  const Outcome outcome = run({"transformer", "memory", "--layers", "32", "--hidden", "4096",
                               "--heads", "32", "--ffn", "11008", "--vocab", "32000", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out, "output").at("parameters").as_int(), 6738415616);
}

}  // namespace
}  // namespace trainyard::cli
