#include "models/onnx/payload.h"

#include <cstring>

#include "base/error.h"

namespace trainyard::onnx_io {
namespace {

// Without weights, the largest published models describe themselves in a few megabytes.
constexpr size_t kLargestDescription = size_t{64} << 20;
constexpr int64_t kMostMessages = 1'000'000;
// What protobuf reads too; a graph within a graph takes three.
constexpr int kDeepestMessage = 100;

enum class Message : uint8_t { kModel, kGraph, kNode, kAttribute, kTensor, kFunction, kOther };

// The messages on the way to a tensor. Field numbers are those of onnx.proto.
Message child_of(Message parent, uint32_t field) {
  switch (parent) {
    case Message::kModel:
      if (field == 7) return Message::kGraph;
      return field == 25 ? Message::kFunction : Message::kOther;
    case Message::kGraph:
      if (field == 1) return Message::kNode;
      return field == 5 ? Message::kTensor : Message::kOther;
    case Message::kFunction:
      if (field == 11) return Message::kAttribute;
      return field == 7 ? Message::kNode : Message::kOther;
    case Message::kNode:
      return field == 5 ? Message::kAttribute : Message::kOther;
    case Message::kAttribute:
      if (field == 6 || field == 11) return Message::kGraph;
      return field == 5 ? Message::kTensor : Message::kOther;
    case Message::kTensor:
    case Message::kOther:
      break;
  }
  return Message::kOther;
}

constexpr uint32_t kRawData = 9;

// float_data, int32_data, int64_data, raw_data, double_data, uint64_data.
bool holds_numbers(uint32_t field) {
  return field == 4 || field == 5 || field == 7 || field == kRawData || field == 10 || field == 11;
}

class Splitter {
 public:
  explicit Splitter(Bytes file) : file_(file) {}

  std::string rewrite(Message kind, Bytes message, int depth = 0) {
    TY_REQUIRE(depth < kDeepestMessage, "its messages are nested more than {} deep (byte {})",
               kDeepestMessage, position_of(message));
    TY_REQUIRE(++messages_ <= kMostMessages, "it has more than {} nodes and tensors",
               kMostMessages);
    std::string out;
    bool has_numbers = false;
    WireReader reader(message, position_of(message));
    while (!reader.done()) {
      const WireField field = reader.next();
      const bool is_bytes = field.type == WireType::kBytes;
      const Message child = is_bytes ? child_of(kind, field.number) : Message::kOther;
      if (is_bytes && kind == Message::kTensor && holds_numbers(field.number)) {
        TY_REQUIRE(!has_numbers, "the tensor before byte {} holds its numbers in several fields",
                   reader.position());
        has_numbers = true;
        move_out(field, out);
      } else if (child != Message::kOther) {
        const std::string inner = rewrite(child, field.content, depth + 1);
        append_bytes_header(out, field.number, inner.size());
        out += inner;
      } else {
        keep(field.whole, out);
      }
    }
    return out;
  }

  std::vector<Payload> payloads;

 private:
  size_t position_of(Bytes part) const {
    return part.empty() ? 0 : static_cast<size_t>(part.data() - file_.data());
  }

  void keep(Bytes bytes, std::string& out) {
    kept_ += bytes.size();
    TY_REQUIRE(kept_ <= kLargestDescription, "it describes itself in more than {} bytes",
               kLargestDescription);
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  void move_out(const WireField& field, std::string& out) {
    const uint64_t index = payloads.size();
    payloads.push_back({field.number, field.content, position_of(field.content)});
    append_bytes_header(out, kRawData, sizeof index);
    for (size_t i = 0; i < sizeof index; ++i) out += static_cast<char>(index >> (8 * i));
  }

  Bytes file_;
  size_t kept_ = 0;
  int64_t messages_ = 0;
};

}  // namespace

SplitFile split_file(Bytes file, Root root) {
  Splitter splitter(file);
  SplitFile split;
  split.description =
      splitter.rewrite(root == Root::kModel ? Message::kModel : Message::kTensor, file);
  split.payloads = std::move(splitter.payloads);
  return split;
}

}  // namespace trainyard::onnx_io
