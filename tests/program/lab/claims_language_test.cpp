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

TEST(Claims, Transformers) {
  Json data = parsed(
      R"({"settings": {"models": ["a"], "device": "h100", "most": 4, "chosen": 4, "batch": 8, "tokens": 1e12, "deadline": 10},
    "sized": [{"model": "a", "result": {"speed_low": 0.8, "speed_high": 1.1, "usd_per_device_hour": 2, "fleets": [
      {"workers": 4, "mapping": "data 4", "step_s": 1, "tokens_per_s": 30, "mfu_percent": 25, "goodput_percent": 99, "bound_by": "data exchange", "hours": 4, "usd": 30, "good": true,
       "matrix_products_s": 0.2, "head_and_loss_s": 0.1, "attention_s": 0.1, "memory_bandwidth_s": 0.1, "launches_s": 0, "tensor_exchange_s": 0, "context_exchange_s": 0,
       "expert_exchange_s": 0, "pipeline_exchange_s": 0, "data_exchange_s": 0.4, "pipeline_bubble_s": 0, "optimizer_s": 0.1, "offloading_s": 0, "fixed_cost_s": 0},
      {"workers": 2, "mapping": "data 2", "step_s": 2, "tokens_per_s": 20, "mfu_percent": 50, "goodput_percent": 99, "bound_by": "matrix units", "hours": 12, "usd": 20, "good": false,
       "matrix_products_s": 1, "head_and_loss_s": 0, "attention_s": 0.4, "memory_bandwidth_s": 0.2, "launches_s": 0, "tensor_exchange_s": 0, "context_exchange_s": 0,
       "expert_exchange_s": 0, "pipeline_exchange_s": 0, "data_exchange_s": 0.2, "pipeline_bubble_s": 0, "optimizer_s": 0.2, "offloading_s": 0, "fixed_cost_s": 0}],
      "unfit": [{"workers": 1, "reason": "a does not fit"}]}}],
    "planned": [{"model": "a", "result": {"tried": 1200, "fitting": 30, "plans": [
      {"tensor": 2, "pipeline": 1, "interleave": 1, "context": 1, "expert": 1, "data": 2, "zero": 1, "micro_batch": 4, "recompute": "none", "step_s": 2, "memory_bytes": 10, "bound_by": "matrix units"},
      {"tensor": 1, "pipeline": 2, "interleave": 1, "context": 1, "expert": 1, "data": 2, "zero": 3, "micro_batch": 1, "recompute": "full", "step_s": 2.2, "memory_bytes": 9, "bound_by": "matrix units"}]}}],
    "published": [{"result": {"rows": [
      {"model": "a", "source": "s", "device": "h100", "devices": 8, "batch": 8, "sequence": 2, "precision": "half", "mapping": "data 8", "published_s": 2, "predicted_s": 1, "inside": false},
      {"model": "a", "source": "s", "device": "h100", "devices": 4, "batch": 8, "sequence": 2, "precision": "half", "mapping": "data 4", "published_s": 2, "predicted_s": 3, "inside": true}]}}]})");
  check(
      "transformers", altered(data, kCommon),
      {{".", "from 2 to 4 it trains 1.5 times as fast (75 % of ideal)", ""},
       {".sized[0].result.fleets |= .[:1]", "a needs 4 h100s or more.", "times as fast"},
       {R"(.settings.device = "b200")", "a needs 2 b200s or more", "h100s"},
       {".", "after them most of the time there goes to exchanges (40 %)", "goes to attention"},
       {".sized[0].result.fleets[0] |= (.attention_s = 0.4 | .data_exchange_s = 0.1)",
        "after them most of the time there goes to attention (40 %)", "goes to exchanges"},
       {".", "(pipeline 2, data 2, ZeRO 3, micro batch 1, recompute full) takes 10.0 % longer", ""},
       {".planned[0].result.plans |= .[:1]", "mean error", "The second"},
       {".", "Within 10 hours the cheapest are 4, for $30.", "No number"},
       {".sized[0].result.fleets[].good = false", "No number up to 4 is done within 10 hours",
        "the cheapest are"},
       {".sized[0].result.fleets[].usd = null", "No price of h100 is known.", "cost least"},
       {".", "Over 2 published rows of these networks the mean error is 50.0 %; 1 lie within", ""},
       {R"(.settings.models = ["b"])", "No training of these networks was published.",
        "mean error is"}});
}

}  // namespace
}  // namespace trainyard::lab::claims
