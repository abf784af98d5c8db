// The claims of the lab about language models.
#include "claims.h"

namespace trainyard::lab::claims {
namespace {

TEST(Claims, LanguageModel) {
  Json data = parsed(
      R"({"settings": {"text": "a.txt", "sizes": [16, 32, 64], "layers": 2, "heads": 4, "length": 64, "batch": 2, "epochs": 1, "rate": 0.002, "calibration": 1},
    "trained": [
      {"hidden": 16, "result": {"steps": 10, "epochs": [{"bits_per_byte": 5, "test_loss": 3.5, "train_loss": 3.4, "tokens_per_s": 1000, "train_s": 1}]}},
      {"hidden": 32, "result": {"steps": 10, "epochs": [{"bits_per_byte": 4, "test_loss": 2.8, "train_loss": 2.7, "tokens_per_s": 900, "train_s": 1}]}},
      {"hidden": 64, "result": {"steps": 10, "epochs": [{"bits_per_byte": 3.2, "test_loss": 2.2, "train_loss": 2.1, "tokens_per_s": 800, "train_s": 1}]}}],
    "counted": [
      {"hidden": 16, "result": {"totals": {"flops": 1000, "params": 10}}},
      {"hidden": 32, "result": {"totals": {"flops": 10000, "params": 40}}},
      {"hidden": 64, "result": {"totals": {"flops": 100000, "params": 160}}}],
    "calibrated": [{"result": {}}],
    "predicted": [
      {"hidden": 16, "result": {"rows": [{"step_ms": 90}]}}, {"hidden": 32, "result": {"rows": [{"step_ms": 90}]}}, {"hidden": 64, "result": {"rows": [{"step_ms": 90}]}}],
    "written": [
      {"hidden": 16, "result": {"samples": [{"text": " end"}]}}, {"hidden": 32, "result": {"samples": [{"text": " end"}]}}, {"hidden": 64, "result": {"samples": [{"text": " end"}]}}]})");
  check("language-model", altered(data, kCommon),
        {{".", "The best of 3 sizes, 64 channels, needs 3.200 bits for a byte", ""},
         {".", "as C^-0.097 (95 % interval -0.097 to -0.097): more operations mean less loss.", ""},
         {".trained[0].result.epochs[0].bits_per_byte = 2.56 | "
          ".trained[1].result.epochs[0].bits_per_byte = 2.8621670111997307",
          "larger networks did worse.", "less loss"},
         {".trained[1].result.epochs[0].bits_per_byte = 9",
          "does not exclude that size makes no difference.", "less loss"},
         {".", "off by 10.0 % in the mean, and by 10.0 % at most: every size is slower", "faster"},
         {".predicted[].result.rows[0].step_ms = 110", "every size is faster", "slower"},
         {".predicted[0].result.rows[0].step_ms = 110", "some sizes are faster and some slower",
          "every size"}});
}

}  // namespace
}  // namespace trainyard::lab::claims
