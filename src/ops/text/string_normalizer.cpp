// StringNormalizer: a row of texts without its stop words, in capitals or small letters. Letters
// are those of ASCII; others stay as they are.
#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "ops/op_def.h"
#include "tensor/text.h"

namespace trainyard::ops {
namespace {

constexpr AttrSpec kNormalizerAttributes[] = {{"case_change_action", AttrKind::kText},
                                              {"is_case_sensitive", AttrKind::kInt},
                                              {"locale", AttrKind::kText},
                                              {"stopwords", AttrKind::kTexts}};

enum class LetterCase : uint8_t { kKept, kSmall, kCapital };

std::string in_letters(std::string_view text, LetterCase letters) {
  std::string out(text);
  for (char& c : out) {
    if (letters == LetterCase::kSmall && 'A' <= c && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (letters == LetterCase::kCapital && 'a' <= c && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

struct Normalizer {
  explicit Normalizer(const NodeView& node)
      : compared(node.attr_int("is_case_sensitive", 0) != 0 ? LetterCase::kKept
                                                            : LetterCase::kSmall) {
    const std::string action = node.attr_text("case_change_action", "NONE");
    TY_REQUIRE(action == "NONE" || action == "LOWER" || action == "UPPER",
               "case_change_action '{}' is not one of NONE, LOWER, UPPER", action);
    if (action == "LOWER") result = LetterCase::kSmall;
    if (action == "UPPER") result = LetterCase::kCapital;
    for (const std::string& word : node.attr_texts("stopwords")) {
      dropped.insert(in_letters(word, compared));
    }
  }

  // One empty text if nothing is left.
  std::vector<std::string> apply(const TensorView& x) const {
    std::vector<std::string> kept;
    for (int64_t i = 0; i < x.num_elements(); ++i) {
      const std::string_view word = text_at(x, i);
      if (!dropped.contains(in_letters(word, compared))) kept.push_back(in_letters(word, result));
    }
    if (kept.empty()) kept.emplace_back();
    return kept;
  }

  LetterCase compared;
  LetterCase result = LetterCase::kKept;
  std::unordered_set<std::string> dropped;
};

std::vector<TensorType> infer_string_normalizer(const NodeView& node) {
  const TensorType& x = node.input_type(0);
  const Normalizer normalizer(node);
  TY_REQUIRE(x.dtype == DType::kText, "its input is {}, expected texts", dtype_name(x.dtype));
  TY_REQUIRE(x.shape.rank() == 1 || (x.shape.rank() == 2 && x.shape[0] == 1),
             "its input has shape {}, expected [C] or [1, C]", x.shape.to_string());
  const Tensor* known = node.input_constant(0);
  Shape shape = x.shape;
  shape[shape.rank() - 1] = known == nullptr
                                ? Shape::kUnknown
                                : static_cast<int64_t>(normalizer.apply(known->view()).size());
  return {{DType::kText, std::move(shape)}};
}

Routine routine_string_normalizer(const NodeView& node) {
  return [normalizer = Normalizer(node)](Views inputs, Views outputs) {
    const std::vector<std::string> kept = normalizer.apply(inputs[0]);
    std::transform(kept.begin(), kept.end(), outputs[0].as<uint64_t>(), text_number);
  };
}

}  // namespace

extern const OpDef kStringNormalizer = {.name = "StringNormalizer",
                                        .kind = OpKind::kDataMovement,
                                        .attributes = kNormalizerAttributes,
                                        .infer = infer_string_normalizer,
                                        .routine = routine_string_normalizer,
                                        .no_gradient = NoGradient::kNever};

}  // namespace trainyard::ops
