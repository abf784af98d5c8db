// RNN, GRU and LSTM: one sequence of one direction at a time, in double precision throughout.
#include "ops/nn/recurrent.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "engine/kernels/reference/operands.h"
#include "engine/kernels/reference/reference.h"
#include "ops/nn/recurrent_activation.h"

namespace trainyard::kernels::reference {
namespace {

using Numbers = std::span<const double>;

std::vector<double> to_doubles(const TensorView& view) {
  std::vector<double> values(static_cast<size_t>(view.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = float_at(view, static_cast<int64_t>(i));
  return values;
}

double dot(Numbers a, Numbers b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// What stays the same over the steps of one direction.
struct Cell {
  size_t input = 0;
  size_t hidden = 0;
  size_t gates = 1;
  Numbers w;          // gates * hidden x input
  Numbers r;          // gates * hidden x hidden
  Numbers bias;       // of W, then of R; empty: none
  Numbers peepholes;  // for input, output and forget gate; empty: none
  std::span<const ops::RecurrentActivation> activations;
  double clip = 0;  // 0: none
  bool linear_before_reset = false;
  bool input_forget = false;

  double from_input(size_t gate, size_t unit, Numbers x) const {
    const size_t row = gate * hidden + unit;
    return dot(w.subspan(row * input, input), x) + (bias.empty() ? 0.0 : bias[row]);
  }
  double from_state(size_t gate, size_t unit, Numbers h) const {
    const size_t row = gate * hidden + unit;
    return dot(r.subspan(row * hidden, hidden), h) +
           (bias.empty() ? 0.0 : bias[(gates + gate) * hidden + unit]);
  }
  double peephole(size_t gate, size_t unit, double c) const {
    return peepholes.empty() ? 0.0 : peepholes[gate * hidden + unit] * c;
  }
  double activate(size_t function, double x) const {
    return activations[function](clip > 0 ? std::clamp(x, -clip, clip) : x);
  }
};

struct State {
  std::vector<double> h;
  std::vector<double> c;  // LSTM only
};

void step_rnn(const Cell& cell, Numbers x, State& state) {
  std::vector<double> h(cell.hidden);
  for (size_t u = 0; u < cell.hidden; ++u) {
    h[u] = cell.activate(0, cell.from_input(0, u, x) + cell.from_state(0, u, state.h));
  }
  state.h = std::move(h);
}

// ONNX, GRU: h = (1 - z) * candidate + z * h. The whole reset vector is needed before the first
// candidate, as R multiplies r * h.
void step_gru(const Cell& cell, Numbers x, State& state) {
  enum Gate : size_t { kUpdate, kReset, kHidden };
  std::vector<double> reset(cell.hidden);
  std::vector<double> reset_h(cell.hidden);
  for (size_t u = 0; u < cell.hidden; ++u) {
    reset[u] =
        cell.activate(0, cell.from_input(kReset, u, x) + cell.from_state(kReset, u, state.h));
    reset_h[u] = reset[u] * state.h[u];
  }
  std::vector<double> h(cell.hidden);
  for (size_t u = 0; u < cell.hidden; ++u) {
    const double update =
        cell.activate(0, cell.from_input(kUpdate, u, x) + cell.from_state(kUpdate, u, state.h));
    const double recurrent = cell.linear_before_reset
                                 ? reset[u] * cell.from_state(kHidden, u, state.h)
                                 : cell.from_state(kHidden, u, reset_h);
    const double candidate = cell.activate(1, cell.from_input(kHidden, u, x) + recurrent);
    h[u] = (1 - update) * candidate + update * state.h[u];
  }
  state.h = std::move(h);
}

// ONNX, LSTM: gates in the order i, o, f, c. The new c is stored at once, since a unit reads only
// its own; h is replaced at the end, since all units read all of it.
void step_lstm(const Cell& cell, Numbers x, State& state) {
  enum Gate : size_t { kInput, kOutput, kForget, kCell };
  std::vector<double> h(cell.hidden);
  for (size_t u = 0; u < cell.hidden; ++u) {
    const auto sum = [&](size_t gate) {
      return cell.from_input(gate, u, x) + cell.from_state(gate, u, state.h);
    };
    const double before = state.c[u];
    const double input = cell.activate(0, sum(kInput) + cell.peephole(kInput, u, before));
    const double forget = cell.input_forget
                              ? 1 - input
                              : cell.activate(0, sum(kForget) + cell.peephole(kForget, u, before));
    const double candidate = cell.activate(1, sum(kCell));
    state.c[u] = forget * before + input * candidate;
    const double output = cell.activate(0, sum(kOutput) + cell.peephole(kOutput, u, state.c[u]));
    // The cell's output is not clipped; only inputs of gates are.
    h[u] = output * cell.activations[2](state.c[u]);
  }
  state.h = std::move(h);
}

class Recurrent final : public Kernel {
 public:
  explicit Recurrent(const NodeView& node)
      : sizes_(ops::recurrent_sizes(node)),
        activations_(ops::recurrent_activations(node, sizes_.directions)),
        reversed_(node.attr_text("direction", "forward") == "reverse"),
        clip_(node.attr_float("clip", 0)),
        linear_before_reset_(node.attr_int("linear_before_reset", 0) != 0),
        input_forget_(node.attr_int("input_forget", 0) != 0) {}

  void run(const KernelArgs& args) const override {
    Weights weights{to_doubles(args.inputs[0]), to_doubles(args.inputs[1]),
                    to_doubles(args.inputs[2]), optional(args, 3), optional(args, 7)};
    const TensorView y = output_or_none(args, 0);
    // Steps behind the end of a shorter sequence are zero (ONNX, sequence_lens).
    for (int64_t i = 0; y.data != nullptr && i < y.num_elements(); ++i) store_float(y, i, 0);
    for (int64_t d = 0; d < sizes_.directions; ++d) {
      const Cell cell = cell_of(weights, d);
      for (int64_t b = 0; b < sizes_.batch; ++b) run_sequence(args, weights.x, cell, d, b);
    }
  }

 private:
  struct Weights {
    std::vector<double> x;
    std::vector<double> w;
    std::vector<double> r;
    std::vector<double> bias;
    std::vector<double> peepholes;
  };

  static std::vector<double> optional(const KernelArgs& args, size_t input) {
    const TensorView view = input_or_none(args, input);
    return view.data != nullptr ? to_doubles(view) : std::vector<double>();
  }

  Cell cell_of(const Weights& weights, int64_t direction) const {
    // W, R, B and P of both directions follow each other.
    const auto part = [&](const std::vector<double>& all) {
      const size_t size = all.size() / static_cast<size_t>(sizes_.directions);
      return Numbers(all).subspan(static_cast<size_t>(direction) * size, size);
    };
    const size_t functions = activations_.size() / static_cast<size_t>(sizes_.directions);
    return {
        .input = static_cast<size_t>(sizes_.input),
        .hidden = static_cast<size_t>(sizes_.hidden),
        .gates = static_cast<size_t>(sizes_.gates),
        .w = part(weights.w),
        .r = part(weights.r),
        .bias = part(weights.bias),
        .peepholes = part(weights.peepholes),
        .activations =
            std::span(activations_).subspan(static_cast<size_t>(direction) * functions, functions),
        .clip = clip_,
        .linear_before_reset = linear_before_reset_,
        .input_forget = input_forget_};
  }

  void run_sequence(const KernelArgs& args, Numbers x, const Cell& cell, int64_t direction,
                    int64_t batch) const {
    const int64_t at = state_index(direction, batch);
    State state{initial(input_or_none(args, 5), at), initial(input_or_none(args, 6), at)};
    // The second direction of a bidirectional layer runs backward; each sequence from its own end.
    const bool reverse = direction == 1 || reversed_;
    const int64_t length = length_of(input_or_none(args, 4), batch);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = reverse ? length - 1 - i : i;
      const int64_t row =
          sizes_.batch_first ? batch * sizes_.sequence + t : t * sizes_.batch + batch;
      step(cell, x.subspan(static_cast<size_t>(row) * cell.input, cell.input), state);
      store(output_or_none(args, 0), output_index(t, direction, batch), state.h);
    }
    store(output_or_none(args, 1), at, state.h);
    store(output_or_none(args, 2), at, state.c);
  }

  void step(const Cell& cell, Numbers x, State& state) const {
    if (sizes_.gates == 1) return step_rnn(cell, x, state);
    if (sizes_.gates == 3) return step_gru(cell, x, state);
    step_lstm(cell, x, state);
  }

  int64_t length_of(const TensorView& lengths, int64_t batch) const {
    if (lengths.data == nullptr) return sizes_.sequence;
    // ONNX fixes the type of sequence_lens to int32.
    const int64_t length = lengths.as<int32_t>()[batch];
    TY_REQUIRE(0 <= length && length <= sizes_.sequence,
               "sequence {} has length {}, expected 0 to {}", batch, length, sizes_.sequence);
    return length;
  }

  // In units of `hidden` numbers.
  int64_t state_index(int64_t direction, int64_t batch) const {
    return sizes_.batch_first ? batch * sizes_.directions + direction
                              : direction * sizes_.batch + batch;
  }
  int64_t output_index(int64_t t, int64_t direction, int64_t batch) const {
    if (sizes_.batch_first) {
      return (batch * sizes_.sequence + t) * sizes_.directions + direction;
    }
    return (t * sizes_.directions + direction) * sizes_.batch + batch;
  }

  std::vector<double> initial(const TensorView& states, int64_t at) const {
    std::vector<double> state(static_cast<size_t>(sizes_.hidden), 0.0);
    if (states.data == nullptr) return state;
    for (int64_t u = 0; u < sizes_.hidden; ++u) {
      state[static_cast<size_t>(u)] = float_at(states, at * sizes_.hidden + u);
    }
    return state;
  }

  void store(const TensorView& y, int64_t at, const std::vector<double>& values) const {
    if (y.data == nullptr) return;
    for (int64_t u = 0; u < sizes_.hidden; ++u) {
      store_float(y, at * sizes_.hidden + u, values[static_cast<size_t>(u)]);
    }
  }

  ops::RecurrentSizes sizes_;
  std::vector<ops::RecurrentActivation> activations_;
  bool reversed_;
  double clip_;
  bool linear_before_reset_;
  bool input_forget_;
};

}  // namespace

extern const KernelDef kRNN = reference_kernel<Recurrent>("RNN");
extern const KernelDef kGRU = reference_kernel<Recurrent>("GRU");
extern const KernelDef kLSTM = reference_kernel<Recurrent>("LSTM");

}  // namespace trainyard::kernels::reference
