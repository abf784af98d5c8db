#include "cluster/predict/paleo/model.h"

#include <cmath>

#include "base/error.h"

namespace trainyard::predict::paleo {
namespace {

// PALEO prices 1x1 convolutions as matrix products, whatever cuDNN would choose.
Algorithm choose(const Layer& layer, Pass pass, const Options& options) {
  const bool point = layer.conv.kh == 1 && layer.conv.kw == 1;
  if (point || !options.algorithm) return Algorithm::kGemm;
  return options.algorithm(layer, pass);
}

Times conv_times(const Layer& layer, int64_t batch, Pass pass, const Options& options) {
  const Pricer pricer(options.machine, options.percent.compute);
  const Variant variant = options.variant;
  ConvShape shape = layer.conv;
  shape.n = batch;
  shape = resolve(shape, variant);
  const Algorithm algorithm = choose(layer, pass, options);
  if (pass == Pass::kForward) return pricer.conv(shape, algorithm, variant);
  if (pass == Pass::kFilterGradient) {
    return pricer.conv(filter_view(shape, variant), algorithm, variant);
  }
  // The view is made, and with it checked, even where its cost is skipped.
  const ConvShape view = data_view(shape, variant);
  return layer.fed_by_data ? Times{} : pricer.conv(view, algorithm, variant);
}

// A transposed convolution forward is the data gradient of the convolution it transposes.
Times deconv_times(const Layer& layer, int64_t batch, Pass pass, const Options& options) {
  const Pricer pricer(options.machine, options.percent.compute);
  const Variant variant = options.variant;
  ConvShape shape = layer.conv;
  shape.n = batch;
  shape = resolve(shape, variant);
  const ConvShape equivalent = data_view(shape, variant);
  switch (pass) {
    case Pass::kForward:
      return pricer.conv(equivalent, Algorithm::kGemm, variant);
    case Pass::kDataGradient:
      return pricer.conv(shape, Algorithm::kGemm, variant);
    case Pass::kFilterGradient:
      break;
  }
  ConvShape view = filter_view(equivalent, variant);
  view.holes_filter = equivalent.holes_input;
  return pricer.conv(view, Algorithm::kGemm, variant);
}

}  // namespace

// PALEO gives every convolution and linear layer a bias, also where the network has none.
int64_t Layer::parameters() const {
  switch (kind) {
    case LayerKind::kConv:
    case LayerKind::kDeconv:
      return conv.kh * conv.kw * (conv.cin / conv.groups) * conv.cout + conv.cout;
    case LayerKind::kLinear:
      return conv.cin * conv.cout + conv.cout;
    default:
      return 0;
  }
}

double Net::weight_bytes() const {
  int64_t parameters = 0;
  for (const Layer& layer : layers) parameters += layer.parameters();
  return 4 * static_cast<double>(parameters);
}

Times layer_times(const Layer& layer, int64_t batch, Pass pass, const Options& options) {
  const Pricer pricer(options.machine, options.percent.compute);
  switch (layer.kind) {
    case LayerKind::kConv:
      return conv_times(layer, batch, pass, options);
    case LayerKind::kDeconv:
      return deconv_times(layer, batch, pass, options);
    case LayerKind::kLinear:
      return pricer.price(linear_work(batch, layer.conv.cin, layer.conv.cout));
    case LayerKind::kPool:
      if (pass == Pass::kFilterGradient) return {};
      return pricer.price(pool_work(layer.conv.kh * layer.conv.kw, batch * layer.in_elements,
                                    batch * layer.out_elements));
    case LayerKind::kDropout:
      if (pass == Pass::kFilterGradient) return {};
      return pricer.price(dropout_work(batch * layer.in_elements));
    case LayerKind::kFree:
      break;
  }
  return {};
}

Iteration iteration(const Net& net, int64_t batch, const Options& options) {
  Iteration sum;
  for (const Layer& layer : net.layers) {
    sum.forward_ms += layer_times(layer, batch, Pass::kForward, options).total(options.pipelined);
    Times backward = layer_times(layer, batch, Pass::kDataGradient, options);
    backward += layer_times(layer, batch, Pass::kFilterGradient, options);
    sum.backward_ms += backward.total(options.pipelined);
  }
  sum.update_ms = update_times(options.machine, net.weight_bytes()).total(options.pipelined);
  return sum;
}

double scheme_ms(Scheme scheme, int64_t workers, double weight_bytes, double gbit_per_s,
                 double percent_network) {
  const double transfer = weight_bytes / (gbit_per_s / 8 * 1e9) * 1e3 / percent_network;
  const auto k = static_cast<double>(workers);
  const double rounds = workers > 1 ? std::ceil(std::log(k) / std::log(2.0)) : 0;
  switch (scheme) {
    case Scheme::kOneToAll:
      return 2 * (k - 1) * transfer;
    case Scheme::kTree:
      return 2 * rounds * transfer;
    case Scheme::kButterfly:
      return rounds * transfer;
    case Scheme::kButterflyMixing:
      return transfer;  // also for one worker
  }
  return 0;
}

}  // namespace trainyard::predict::paleo
