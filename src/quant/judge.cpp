#include "engine/compiler.h"
#include "engine/executable.h"
#include "quant/quantize.h"
#include "train/top_k.h"

namespace trainyard::quant {
namespace {

// Outputs of detectors are large.
constexpr int64_t kCompared = 256;

bool tells_classes(const Graph& graph, int64_t classes) {
  if (classes == 0) return false;
  const TensorType& type = graph.value(graph.outputs()[0]).type;
  return type.dtype == DType::kF32 && type.shape.rank() == 2 && type.shape[1] >= classes;
}

struct Energy {
  double signal = 0;
  double noise = 0;

  void add(std::span<const float> exact, std::span<const float> found) {
    for (size_t i = 0; i < exact.size(); ++i) {
      const double off = double{exact[i]} - double{found[i]};
      signal += double{exact[i]} * double{exact[i]};
      noise += off * off;
    }
  }
};

}  // namespace

QualityJudge::QualityJudge(data::Loader& loader, int64_t images, int64_t classes, int threads)
    : loader_(loader), most_(images), classes_(classes), threads_(threads) {}

QuantizedQuality QualityJudge::reference(const Graph& graph) {
  exact_.clear();
  return run(graph, /*remember=*/true);
}

QuantizedQuality QualityJudge::of(const Graph& graph) {
  return run(graph, /*remember=*/false);
}

QuantizedQuality QualityJudge::run(const Graph& graph, bool remember) {
  std::unique_ptr<train::Evaluator> top_k;
  if (tells_classes(graph, classes_)) top_k = train::make_top_k(graph, /*with_loss=*/false);
  runtime::CompileOptions options;
  options.threads = threads_;
  runtime::ExecutionContext context(runtime::compile(graph, options));
  std::vector<const Tensor*> outputs;
  for (size_t i = 0; i < context.num_outputs(); ++i) outputs.push_back(&context.output(i));
  Energy energy;
  images_ = 0;
  size_t part = 0;
  loader_.start_epoch(0);
  while (images_ < most_) {
    const data::Batch* batch = loader_.next();
    if (batch == nullptr) break;
    context.set_input(0, batch->images);
    context.run();
    if (top_k != nullptr) top_k->add(outputs, *batch);
    for (const Tensor* output : outputs) {
      if (output->dtype() != DType::kF32 || images_ >= kCompared) continue;
      const std::span<const float> values = output->values<float>();
      if (remember) {
        exact_.emplace_back(values.begin(), values.end());
      } else if (part < exact_.size()) {
        energy.add(exact_[part++], values);
      }
    }
    images_ += batch->valid;
  }
  QuantizedQuality judgment;
  if (top_k != nullptr && images_ > 0) judgment.top1 = top_k->result().score("top1");
  judgment.output_sqnr_db = sqnr_db(energy.signal, energy.noise);
  return judgment;
}

}  // namespace trainyard::quant
