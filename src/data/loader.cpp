#include "data/loader.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"

namespace trainyard::data {
namespace {

constexpr int64_t kMostWorkers = 256;
// Batches beyond one per worker: the one in use and one ready behind it.
constexpr int64_t kExtraSlots = 2;

SamplerOptions sampler_options(const Dataset& dataset, const LoaderOptions& options) {
  return {.size = dataset.size(),
          .batch = options.batch,
          .shuffle = options.shuffle,
          .seed = options.seed,
          .rank = options.rank,
          .world = options.world,
          .drop_last = options.drop_last,
          .round = options.round};
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Loader::Loader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset),
      options_(options),
      augmentations_(options.augmentations, dataset),
      sampler_(sampler_options(dataset, options)) {
  TY_REQUIRE(0 <= options.workers && options.workers <= kMostWorkers,
             "{} data workers, expected 0 to {}", options.workers, kMostWorkers);
  const PictureShape& shape = augmentations_.output();
  for (int64_t i = 0; i < slots(options.workers); ++i) {
    Slot& slot = slots_.emplace_back();
    slot.batch.images =
        Tensor(DType::kF32, Shape{options.batch, shape.channels, shape.height, shape.width});
    slot.batch.labels = Tensor(DType::kI64, Shape{options.batch});
  }
  // Nothing to do before start_epoch().
  claimed_ = released_ = consumed_ = num_batches();
  for (int64_t i = 0; i < options.workers; ++i) threads_.emplace_back([this] { work(); });
}

int64_t Loader::slots(int64_t workers) {
  return workers == 0 ? 1 : workers + kExtraSlots;
}

Loader::~Loader() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool Loader::may_claim() const {
  return claimed_ < num_batches() && claimed_ < released_ + static_cast<int64_t>(slots_.size());
}

void Loader::start_epoch(int64_t epoch, int64_t first_batch) {
  TY_REQUIRE(0 <= first_batch && first_batch <= num_batches(),
             "the epoch has {} batches, so it cannot begin at batch {}", num_batches(),
             first_batch);
  {
    std::unique_lock lock(mutex_);
    claimed_ = num_batches();
    batch_ready_.wait(lock, [this] { return busy_ == 0; });
    for (Slot& slot : slots_) {
      slot.ready = false;
      slot.problem = nullptr;
    }
    epoch_ = options_.freeze_epoch ? 0 : epoch;
    sampler_.start_epoch(epoch_);
    claimed_ = released_ = consumed_ = first_batch;
    wait_seconds_ = 0;
  }
  work_changed_.notify_all();
}

const Batch* Loader::next() {
  std::unique_lock lock(mutex_);
  released_ = consumed_;
  if (consumed_ == num_batches()) return nullptr;
  const auto start = std::chrono::steady_clock::now();
  Slot& slot = slot_of(consumed_);
  if (threads_.empty()) {
    fill(slot.batch, consumed_, own_workspace_);
  } else {
    work_changed_.notify_one();
    batch_ready_.wait(lock, [&slot] { return slot.ready; });
    slot.ready = false;
  }
  ++consumed_;
  wait_seconds_ += seconds_since(start);
  if (slot.problem) std::rethrow_exception(std::exchange(slot.problem, nullptr));
  return &slot.batch;
}

const Batch& Loader::make(int64_t index) {
  TY_CHECK(threads_.empty() && 0 <= index && index < num_batches(), "batch {} of {}", index,
           num_batches());
  fill(slots_[0].batch, index, own_workspace_);
  return slots_[0].batch;
}

void Loader::work() {
  Workspace workspace;
  std::unique_lock lock(mutex_);
  while (true) {
    work_changed_.wait(lock, [this] { return stopping_ || may_claim(); });
    if (stopping_) return;
    const int64_t index = claimed_++;
    Slot& slot = slot_of(index);
    ++busy_;
    lock.unlock();
    std::exception_ptr problem;
    try {
      fill(slot.batch, index, workspace);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    slot.problem = problem;
    slot.ready = true;
    --busy_;
    batch_ready_.notify_one();
  }
}

void Loader::fill(Batch& batch, int64_t index, Workspace& workspace) const {
  const std::span<const int64_t> samples = sampler_.samples(index);
  const int64_t elements = augmentations_.output().elements();
  const std::span<float> images = batch.images.values<float>();
  const std::span<int64_t> labels = batch.labels.values<int64_t>();
  for (size_t i = 0; i < samples.size(); ++i) {
    const Draw draw{.seed = options_.seed, .epoch = epoch_, .sample = samples[i]};
    augmentations_.floats(dataset_, draw, workspace,
                          images.data() + static_cast<int64_t>(i) * elements);
    labels[i] = dataset_.label(samples[i]);
  }
  batch.index = index;
  batch.valid = static_cast<int64_t>(samples.size());
  std::fill(images.begin() + batch.valid * elements, images.end(), 0.0F);
  std::fill(labels.begin() + batch.valid, labels.end(), kNoLabel);
}

}  // namespace trainyard::data
