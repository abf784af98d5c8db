// dropout:P: every pixel by itself, in all channels, with probability P in the color that
// normalization makes zero (black if nothing is normalized): what cutout is compared with.
#include <algorithm>
#include <cstring>

#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

class PixelDropout final : public Step {
 public:
  PixelDropout(double share, std::vector<uint8_t> fill) : share_(share), fill_(std::move(fill)) {}

  PictureShape output(const PictureShape& in) const override { return in; }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& random) const override {
    out.reshape(in.shape);
    std::memcpy(out.bytes.data(), in.data, out.bytes.size());
    for (int64_t y = 0; y < in.shape.height; ++y) {
      for (int64_t x = 0; x < in.shape.width; ++x) {
        if (random.uniform(static_cast<uint64_t>(y * in.shape.width + x)) >= share_) continue;
        for (int64_t c = 0; c < in.shape.channels; ++c) out.row(c, y)[x] = fill(c);
      }
    }
    return out.view();
  }

  std::string text() const override { return fmt::format("dropout:{}", share_); }
  std::string evaluation_text() const override { return ""; }

 private:
  uint8_t fill(int64_t channel) const {
    if (fill_.empty()) return 0;
    return fill_[std::min(fill_.size() - 1, static_cast<size_t>(channel))];
  }

  double share_;
  std::vector<uint8_t> fill_;
};

std::unique_ptr<const Step> make_dropout(const StepArguments& arguments) {
  return std::make_unique<PixelDropout>(parse_real(arguments.text, 0, 1, arguments.what),
                                        arguments.fill);
}

}  // namespace

extern const StepDef kDropout = {"dropout", "dropout:SHARE", make_dropout};

}  // namespace trainyard::data
