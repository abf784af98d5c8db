#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/arena.h"
#include "serve/models/idle_memory.h"
#include "serve/models/model_version.h"
#include "tensor/text.h"
#include "tensor/text_scope.h"

namespace trainyard::serve {
namespace {

// As many as a network keeps for shapes of requests, and its own sizes.
constexpr size_t kMostContexts = 32;
// Inputs that are worth reading where they lie: kernels must then be told of the address.
constexpr int64_t kLeastLent = 64 << 10;

// Where a row lies: which job, and which of its rows.
struct RowPlace {
  size_t job = 0;
  int64_t row = 0;
};

// The consecutive rows of jobs, one after another.
class RowCursor {
 public:
  explicit RowCursor(std::span<Job* const> jobs) : jobs_(jobs) {}

  // The place of the next row and how many rows of its job follow, at most `most`.
  std::pair<RowPlace, int64_t> next(int64_t most) {
    const RowPlace place = at_;
    const int64_t count = std::min(most, jobs_[at_.job]->rows - at_.row);
    at_.row += count;
    if (at_.row == jobs_[at_.job]->rows) at_ = {at_.job + 1, 0};
    return {place, count};
  }
  const Job& job(const RowPlace& place) const { return *jobs_[place.job]; }

 private:
  std::span<Job* const> jobs_;
  RowPlace at_;
};

int64_t row_bytes(const Tensor& tensor) {
  return tensor.shape()[0] > 0 ? tensor.num_bytes() / tensor.shape()[0] : 0;
}

// Room for an output of so many rows; of texts, as texts.
OutputTensor with_rows(const Network& network, size_t index, const Tensor& like, int64_t rows) {
  Shape shape = like.shape();
  shape[0] = rows;
  OutputTensor output{network.outputs()[index].name,
                      {like.dtype(), network.seen_shape(index, shape)}};
  if (like.dtype() == DType::kText) output.texts.resize(static_cast<size_t>(shape.num_elements()));
  return output;
}

// Texts as the numbers that kernels know, from element `begin` of `input` on.
void put_texts(Tensor& input, int64_t begin, std::span<const std::string> texts) {
  auto* const numbers = static_cast<uint64_t*>(input.data()) + begin;
  for (size_t i = 0; i < texts.size(); ++i) numbers[i] = text_number(texts[i]);
}

// And back, `count` elements.
void take_texts(const Tensor& from, int64_t begin, int64_t count, std::string* into) {
  for (int64_t i = 0; i < count; ++i) into[i] = text_at(from.view(), begin + i);
}

// While texts of requests have numbers; none where nothing of a network is a text.
std::unique_ptr<const TextScope> text_scope(const Network& network) {
  return network.has_texts() ? std::make_unique<const TextScope>() : nullptr;
}

// Large ones are read where the request has them, if the kernels can. They lie there until the
// request is answered.
void set_inputs(const Network& network, runtime::ExecutionContext& running, const Shapes& shapes,
                std::span<const std::byte* const> data,
                std::span<const std::span<const std::string>> texts) {
  for (size_t i = 0; i < data.size(); ++i) {
    const TensorType type{network.inputs()[i].dtype, shapes[i]};
    if (type.dtype == DType::kText) {
      put_texts(running.input(i), 0, texts[i]);
      continue;
    }
    const int64_t bytes = type.num_bytes();
    if (bytes == 0) continue;
    if (bytes < kLeastLent) {
      std::memcpy(running.input(i).data(), data[i], static_cast<size_t>(bytes));
      continue;
    }
    // Kernels only read inputs.
    running.lend_input(i, Tensor(type, nullptr, const_cast<std::byte*>(data[i])));
  }
}

// Without a request: texts are zeros too, since networks make numbers of them.
void run_zeros(const Network& network, runtime::ExecutionContext& running) {
  const auto scope = text_scope(network);
  for (size_t i = 0; i < network.inputs().size(); ++i) {
    if (network.inputs()[i].dtype != DType::kText) continue;
    const auto count = static_cast<size_t>(running.input(i).num_elements());
    put_texts(running.input(i), 0, std::vector<std::string>(count, "0"));
  }
  running.run();
}

// Rows of the next jobs, put together.
void gather(const Network& network, runtime::ExecutionContext& running, const Shapes& shapes,
            RowCursor& rows, int64_t size) {
  std::vector<int64_t> bytes;     // of a row
  std::vector<int64_t> elements;  // of a row
  for (size_t i = 0; i < shapes.size(); ++i) {
    const TensorType type{network.inputs()[i].dtype, shapes[i]};
    bytes.push_back(type.num_bytes() / size);
    elements.push_back(type.shape.num_elements() / size);
  }
  for (int64_t filled = 0; filled < size;) {
    const auto [place, count] = rows.next(size - filled);
    std::vector<const std::byte*> data = rows.job(place).data;
    std::vector<std::span<const std::string>> texts = rows.job(place).texts;
    for (size_t i = 0; i < data.size(); ++i) {
      if (data[i] != nullptr) data[i] += place.row * bytes[i];
      if (texts[i].empty()) continue;
      texts[i] = texts[i].subspan(static_cast<size_t>(place.row * elements[i]),
                                  static_cast<size_t>(count * elements[i]));
    }
    if (count == size) return set_inputs(network, running, shapes, data, texts);
    for (size_t i = 0; i < data.size(); ++i) {
      if (network.inputs()[i].dtype == DType::kText) {
        put_texts(running.input(i), filled * elements[i], texts[i]);
        continue;
      }
      if (bytes[i] == 0) continue;
      std::memcpy(static_cast<std::byte*>(running.input(i).data()) + filled * bytes[i], data[i],
                  static_cast<size_t>(count * bytes[i]));
    }
    filled += count;
  }
}

}  // namespace

runtime::ExecutionContext& Instance::context(const Shapes& shapes) {
  const auto found = std::find_if(contexts_.begin(), contexts_.end(),
                                  [&](const Entry& entry) { return entry.shapes == shapes; });
  if (found != contexts_.end()) {
    contexts_.splice(contexts_.begin(), contexts_, found);
    return *contexts_.front().context;
  }
  runtime::Executable executable = network_.executable(shapes, form_);
  if (arena_.empty() || executable.arena_bytes() > arena_.num_bytes()) {
    arena_ = runtime::make_arena(executable.arena_bytes());
  }
  contexts_.push_front(
      {shapes, std::make_unique<runtime::ExecutionContext>(std::move(executable), arena_)});
  if (contexts_.size() > kMostContexts) contexts_.pop_back();
  return *contexts_.front().context;
}

std::vector<InferResult> Instance::run(std::span<Job* const> jobs) {
  int64_t rows = 0;
  for (Job* job : jobs) rows += job->rows;
  std::vector<InferResult> results =
      network_.max_batch() > 0 ? run_rows(jobs, rows) : run_alone(*jobs[0]);
  const Clock::time_point now = Clock::now();
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i]->request.times.finished = now;
    results[i].times = jobs[i]->request.times;
    results[i].batch = rows;
  }
  return results;
}

std::vector<InferResult> Instance::run_alone(Job& job) {
  RequestTimes& times = job.request.times;
  times.started = Clock::now();
  runtime::ExecutionContext& running = context(job.shapes);
  const auto scope = text_scope(network_);
  set_inputs(network_, running, job.shapes, job.data, job.texts);
  times.computing = Clock::now();
  running.run();
  times.computed = Clock::now();
  std::vector<InferResult> results(1);
  for (size_t i = 0; i < running.num_outputs(); ++i) {
    const Tensor& from = running.output(i);
    OutputTensor& output = results[0].outputs.emplace_back(OutputTensor{
        network_.outputs()[i].name, from.clone().reshaped(network_.seen_shape(i, from.shape()))});
    if (from.dtype() != DType::kText) continue;
    output.texts.resize(static_cast<size_t>(from.num_elements()));
    take_texts(from, 0, from.num_elements(), output.texts.data());
  }
  return results;
}

std::vector<InferResult> Instance::run_rows(std::span<Job* const> jobs, int64_t rows) {
  const Clock::time_point started = Clock::now();
  Clock::duration computing{};
  std::vector<InferResult> results(jobs.size());
  RowCursor in(jobs);
  RowCursor out(jobs);
  Shapes shapes = jobs[0]->shapes;
  while (rows > 0) {
    const int64_t size = *std::prev(std::upper_bound(sizes_.begin(), sizes_.end(), rows));
    rows -= size;
    for (Shape& shape : shapes) shape[0] = size;
    runtime::ExecutionContext& running = context(shapes);
    const auto scope = text_scope(network_);
    gather(network_, running, shapes, in, size);
    const Clock::time_point begin = Clock::now();
    running.run();
    computing += Clock::now() - begin;
    for (int64_t taken = 0; taken < size;) {
      const auto [place, count] = out.next(size - taken);
      std::vector<OutputTensor>& outputs = results[place.job].outputs;
      for (size_t i = 0; i < running.num_outputs(); ++i) {
        const Tensor& from = running.output(i);
        TY_CHECK(from.shape().rank() > 0 && from.shape()[0] == size, "output {} has no rows", i);
        if (outputs.size() == i) {
          outputs.push_back(with_rows(network_, i, from, jobs[place.job]->rows));
        }
        if (from.dtype() == DType::kText) {
          const int64_t elements = from.num_elements() / size;
          take_texts(from, taken * elements, count * elements,
                     outputs[i].texts.data() + place.row * elements);
          continue;
        }
        const int64_t bytes = row_bytes(from);
        if (bytes == 0) continue;
        std::memcpy(static_cast<std::byte*>(outputs[i].data.data()) + place.row * bytes,
                    static_cast<const std::byte*>(from.data()) + taken * bytes,
                    static_cast<size_t>(count * bytes));
      }
      taken += count;
    }
  }
  // Copies before and after the network count as input and output; of several runs, the sum.
  const Clock::time_point now = Clock::now();
  for (Job* job : jobs) {
    RequestTimes& times = job->request.times;
    times.started = started;
    times.computed = now;
    times.computing = now - computing;
  }
  return results;
}

void Instance::warm_up(int64_t count, const std::atomic<bool>* ending) {
  if (network_.has_open_dims()) return;
  // The largest first: its arena serves the others too.
  for (auto size = sizes_.rbegin(); size != sizes_.rend(); ++size) {
    const Shapes shapes = network_.shapes_of(*size);
    for (int64_t i = 0; i < count; ++i) {
      if (ending != nullptr && *ending) throw_failure("the server ends");
      run_zeros(network_, context(shapes));
    }
  }
}

double Instance::rows_per_second() {
  constexpr int kLeastRuns = 2;
  constexpr int kMostRuns = 10;
  constexpr std::chrono::milliseconds kEnough{50};
  runtime::ExecutionContext& largest = context(network_.shapes_of(sizes_.back()));
  const Clock::time_point start = Clock::now();
  Clock::duration best = Clock::duration::max();
  for (int i = 0; i < kMostRuns && (i < kLeastRuns || Clock::now() - start < kEnough); ++i) {
    const Clock::time_point begin = Clock::now();
    run_zeros(network_, largest);
    best = std::min(best, Clock::now() - begin);
  }
  return static_cast<double>(sizes_.back()) / std::chrono::duration<double>(best).count();
}

// Several contexts share the arena, so that nothing in it is kept from one run to the next; inputs
// are filled anew.
void Instance::rest() {
  const auto forget = [](Tensor& tensor) {
    forget_pages(tensor.data(), static_cast<size_t>(tensor.num_bytes()));
  };
  if (!arena_.empty()) forget(arena_);
  for (const Entry& entry : contexts_) {
    for (size_t i = 0; i < network_.inputs().size(); ++i) forget(entry.context->input(i));
  }
}

}  // namespace trainyard::serve
