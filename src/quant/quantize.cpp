#include "quant/quantize.h"

#include "base/stopwatch.h"
#include "quant/session.h"

namespace trainyard::quant {

Quantized quantize(Graph network, const Settings& settings, const Pictures& pictures,
                   const Progress& progress) {
  const Stopwatch watch;
  Session session(std::move(network), settings, pictures, progress);
  session.judge_float();
  session.equalize_layers();
  const double before = watch.seconds();
  session.calibrate();
  const double calibrated = watch.seconds();
  session.keep_named_layers();
  session.keep_slow_layers();
  session.judge_parts();
  session.correct_biases();
  session.measure_sensitivity();
  session.hold_accuracy();
  session.judge_bits();
  Quantized done{session.finish(), session.take_result()};
  done.result.calibrate_s = calibrated - before;
  return done;
}

}  // namespace trainyard::quant
