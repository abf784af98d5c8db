// channels:N: gray spread over three channels, or the gray of three.
#include <cstring>

#include "base/error.h"
#include "data/augment_step.h"
#include "data/numbers.h"

namespace trainyard::data {
namespace {

// Rec. 601 luma in 1/65536, which sum to one.
constexpr int kRed = 19595;
constexpr int kGreen = 38470;
constexpr int kBlue = 7471;
constexpr int kHalf = 1 << 15;

class Channels final : public Step {
 public:
  explicit Channels(int64_t channels) : channels_(channels) {}

  PictureShape output(const PictureShape& in) const override {
    TY_REQUIRE(in.channels == 1 || in.channels == 3,
               "augmentation '{}': pictures of {} have neither 1 nor 3 channels", text(),
               in.to_string());
    return {channels_, in.height, in.width};
  }

  PixelView apply(const PixelView& in, Pixels& out, const RandomStream& /*random*/) const override {
    if (in.shape.channels == channels_) return in;
    out.reshape({channels_, in.shape.height, in.shape.width});
    const int64_t plane = in.shape.plane();
    if (channels_ == 3) {
      for (int64_t c = 0; c < channels_; ++c) {
        std::memcpy(out.row(c, 0), in.data, static_cast<size_t>(plane));
      }
      return out.view();
    }
    uint8_t* gray = out.row(0, 0);
    for (int64_t i = 0; i < plane; ++i) {
      const int sum =
          kRed * in.data[i] + kGreen * in.data[plane + i] + kBlue * in.data[2 * plane + i];
      gray[i] = static_cast<uint8_t>((sum + kHalf) >> 16);
    }
    return out.view();
  }

  std::string text() const override { return fmt::format("channels:{}", channels_); }

 private:
  int64_t channels_;
};

std::unique_ptr<const Step> make_channels(const StepArguments& arguments) {
  const int64_t channels = parse_whole(arguments.text, 1, 3, arguments.what);
  TY_REQUIRE(channels != 2, "{}: 2 is neither 1 nor 3", arguments.what);
  return std::make_unique<Channels>(channels);
}

}  // namespace

extern const StepDef kChannels = {"channels", "channels:1 or channels:3", make_channels};

}  // namespace trainyard::data
