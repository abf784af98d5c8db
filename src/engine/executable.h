// A compiled graph and what it takes to run it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/kernels/api/precision.h"
#include "engine/plan.h"
#include "ops/op_def.h"
#include "tensor/tensor.h"

namespace trainyard::kernels {
class Exchange;
}

namespace trainyard::runtime {

struct Program;
class Profile;

struct Port {
  std::string name;
  TensorType type;  // of an output: dimensions are unknown where only the data decides
};

// What --explain and --profile say about one step.
struct StepInfo {
  std::string node;
  std::string op;
  std::string kernel;  // "onednn jit:avx2", "view", "late"
  std::string output;  // type and layout of the first output
  std::vector<Refusal> refusals;
  ops::OpKind kind = ops::OpKind::kOther;
  uint8_t phase = 0;  // CompileOptions::phases; it never falls from one step to the next
  ops::Cost cost;
  kernels::Precision precision = kernels::Precision::kF32;  // of its products
};

// Immutable and cheap to copy; may be run from several threads at once, each with a context.
class Executable {
 public:
  explicit Executable(std::shared_ptr<const Program> program) : program_(std::move(program)) {}

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  // What a context keeps from one run to the next (CompileOptions::states).
  const std::vector<Port>& states() const;
  // In the order they run.
  const std::vector<StepInfo>& steps() const;
  int threads() const;
  // Of one context's intermediate results, and of the constants all contexts share (those that
  // kernels packed for themselves not counted).
  int64_t arena_bytes() const;
  int64_t constant_bytes() const;
  int64_t state_bytes() const;
  // What is summed over workers as one message.
  struct Message {
    int64_t bytes = 0;
    std::string layouts;  // of its parts: workers must agree
  };
  std::vector<Message> messages() const;
  const Program& program() const { return *program_; }

 private:
  std::shared_ptr<const Program> program_;
};

// What an observer sees of a step that has just run; valid while it is called.
class StepView {
 public:
  virtual ~StepView() = default;
  virtual size_t index() const = 0;  // into Executable::steps()
  virtual const StepInfo& info() const = 0;
  // The node's outputs by position; one that the node does not have has an empty name.
  virtual size_t num_outputs() const = 0;
  virtual const std::string& output_name(size_t i) const = 0;
  virtual const Shape& output_shape(size_t i) const = 0;  // of one that it has
  // A row-major copy. Empty: the node does not have it, or it is a view of what others made.
  virtual Tensor output(size_t i) const = 0;
  // The elements where they lie, sample by sample (axis 0) but within one in any order. Empty: they
  // lie with gaps, or not in the host's memory, or output(i) is empty.
  virtual std::span<const std::byte> elements(size_t i) const = 0;
};
// May throw, which ends the run.
using StepObserver = std::function<void(const StepView&)>;

// The memory of one run at a time. Not thread-safe; make one per thread.
class ExecutionContext {
 public:
  // `exchange` reaches the other workers of a job and outlives the context; null: there are none,
  // and the graph must not have AllReduce nodes (TY_CHECKed).
  explicit ExecutionContext(Executable executable, kernels::Exchange* exchange = nullptr);
  // With intermediate results in `arena`, bytes of at least arena_bytes(), which contexts may share
  // that do not run at the same time: outputs are then valid until any of them runs.
  ExecutionContext(Executable executable, const Tensor& arena);
  ~ExecutionContext();
  ExecutionContext(const ExecutionContext&) = delete;
  ExecutionContext& operator=(const ExecutionContext&) = delete;

  // To be filled before run(); keeps its contents until something is lent in its place.
  Tensor& input(size_t index);
  // Copies `value` into input `index`; throws Error naming the input, the expected and the found
  // type.
  void set_input(size_t index, const Tensor& value);
  // The same without a copy where the kernels that read the input can read it at that address:
  // `value` must then stay as it is until run() has ended. After that it is not looked at again.
  void lend_input(size_t index, const Tensor& value);
  // States are zero until set; both sides are row-major. Throws Error as set_input() does.
  void set_state(size_t index, const Tensor& value);
  Tensor state(size_t index) const;
  // Throws Error for bad data (an index outside a tensor). `profile` may be null.
  void run(Profile* profile = nullptr);
  // A part of the steps, [begin, end); results are complete after the last.
  void run_steps(size_t begin, size_t end, Profile* profile = nullptr);
  // Called after each step of the runs that follow; null: nobody is.
  void set_observer(StepObserver observer);
  // While alone, kernels do as if there were no other workers. Only for steps without gradients
  // that are summed.
  void set_alone(bool alone);
  size_t num_outputs() const;
  // Valid until the next run().
  const Tensor& output(size_t index) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Sets the inputs, runs, and returns copies of the outputs.
std::vector<Tensor> run_once(ExecutionContext& context, std::span<const Tensor> inputs);

}  // namespace trainyard::runtime
