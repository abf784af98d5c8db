#include "rl/env/event_stream.h"

#include "base/error.h"

namespace trainyard::rl {

double EventStream::take_recorded(int64_t low, int64_t high) {
  if (recorded_->empty()) throw_failure("the game draws a number where the recording has none");
  const Draw draw = recorded_->front();
  recorded_->pop_front();
  if (draw.low != low || draw.high != high) {
    throw_failure("the game draws from [{}, {}), the recording has [{}, {})", low, high, draw.low,
                  draw.high);
  }
  return draw.value;
}

}  // namespace trainyard::rl
