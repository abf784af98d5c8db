// Trainyard as a library: what a network costs here and on a GPU, and its result on this machine.
#include <algorithm>
#include <cstdio>
#include <trainyard/api/prediction/prediction.h>
#include <trainyard/api/session.h>

int main() {
  using namespace trainyard;
  const api::Model model("lenet5");
  int64_t parameters = 0;
  int64_t macs = 0;
  for (const api::LayerCost& layer : model.layers()) {
    parameters += layer.parameters;
    macs += layer.macs;
  }
  std::printf("%lld parameters, %lld multiply-adds\n", static_cast<long long>(parameters),
              static_cast<long long>(macs));

  api::Session session(model);
  Tensor image(session.inputs()[0].type);
  std::ranges::fill(image.values<float>(), 0.5F);
  session.run(std::span(&image, 1));
  const auto scores = session.output(0).values<float>();
  std::printf("best class %td after %.3f ms\n",
              std::max_element(scores.begin(), scores.end()) - scores.begin(),
              session.engine_seconds() * 1e3);

  const api::Prediction there = api::predict(model, {.device = "a100", .batch = 256})[0];
  std::printf("an a100 would train %.0f images a second\n", there.images_per_s);
}
