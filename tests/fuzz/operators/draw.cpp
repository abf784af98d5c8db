#include "fuzz/operators/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/cases.h"

namespace trainyard::fuzz {
namespace {

using testing::OpCase;
using testing::OpInput;

constexpr int64_t kMostElements = 4096;

constexpr std::array<DType, 14> kTypes = {
    DType::kF32, DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,  DType::kI16,
    DType::kI32, DType::kI64, DType::kU8,  DType::kU16, DType::kU32,  DType::kU64, DType::kBool};
constexpr std::array<int64_t, 17> kSizes = {0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 16, 17, 32, 33};
constexpr std::array<int64_t, 22> kInts = {0,
                                           1,
                                           -1,
                                           2,
                                           -2,
                                           3,
                                           -3,
                                           4,
                                           7,
                                           16,
                                           255,
                                           256,
                                           65535,
                                           1 << 20,
                                           (int64_t{1} << 31) - 1,
                                           int64_t{1} << 31,
                                           -(int64_t{1} << 31),
                                           int64_t{1} << 32,
                                           int64_t{1} << 62,
                                           -(int64_t{1} << 62),
                                           std::numeric_limits<int64_t>::max(),
                                           std::numeric_limits<int64_t>::min()};
const std::array<double, 16> kNumbers = {0,
                                         -0.0,
                                         1,
                                         -1,
                                         0.5,
                                         2,
                                         3,
                                         1e-30,
                                         1e30,
                                         -1e30,
                                         1e300,
                                         9.3e18,
                                         -9.3e18,
                                         std::numeric_limits<double>::quiet_NaN(),
                                         std::numeric_limits<double>::infinity(),
                                         -std::numeric_limits<double>::infinity()};

int64_t small_int(Dice& dice) {
  return dice.one_in(4) ? dice.of(kInts) : static_cast<int64_t>(dice.below(9)) - 2;
}

Shape draw_shape(Dice& dice) {
  std::vector<int64_t> dims(dice.below(dice.one_in(8) ? 7 : 5));
  for (int64_t& d : dims) d = dice.of(kSizes);
  return Shape(std::move(dims));
}

// Tensors are filled, so they stay small; a dimension may be huge where another is 0.
void keep_small(Shape& shape) {
  for (int64_t i = 0; i < shape.rank(); ++i) {
    while (shape.num_elements() > kMostElements && shape[i] > 1) shape[i] = (shape[i] + 1) / 2;
  }
}

void change_shape(Shape& shape, Dice& dice) {
  std::vector<int64_t> dims = shape.vector();
  const size_t at = dice.below(dims.size() + 1);
  switch (dice.below(6)) {
    case 0:
      shape = draw_shape(dice);
      break;
    case 1:
      dims.insert(dims.begin() + static_cast<int64_t>(at), dice.of(kSizes));
      shape = Shape(std::move(dims));
      break;
    case 2:
      if (at < dims.size()) dims.erase(dims.begin() + static_cast<int64_t>(at));
      shape = Shape(std::move(dims));
      break;
    case 3:
      if (at < dims.size()) std::swap(dims[0], dims[at]);
      shape = Shape(std::move(dims));
      break;
    default:
      if (at < dims.size()) dims[at] = dice.of(kSizes);
      shape = Shape(std::move(dims));
  }
  keep_small(shape);
}

double draw_value(DType dtype, Dice& dice) {
  if (dice.one_in(3))
    return is_float(dtype) ? dice.of(kNumbers) : static_cast<double>(dice.of(kInts));
  return is_float(dtype) ? static_cast<double>(dice.below(4000)) / 1000 - 2
                         : static_cast<double>(dice.below(9)) - 2;
}

// As many values as the shape has elements.
void fit_values(OpInput& input, Dice& dice) {
  if (input.values.empty()) return;
  const auto count = static_cast<size_t>(input.type.shape.num_elements());
  while (input.values.size() < count) input.values.push_back(draw_value(input.type.dtype, dice));
  input.values.resize(count);
}

void change_values(OpInput& input, Dice& dice) {
  const auto count = static_cast<size_t>(input.type.shape.num_elements());
  if (count == 0 || input.type.dtype == DType::kText) return;
  if (input.values.empty()) {
    const Tensor drawn = testing::make_tensor(input, dice.below(8));
    for (size_t i = 0; i < count; ++i) {
      input.values.push_back(element_as_double(drawn, static_cast<int64_t>(i)));
    }
  }
  for (size_t i = dice.below(3) + 1; i-- > 0;) {
    // Something else, or what another place has.
    input.values[dice.below(count)] =
        dice.one_in(3) ? input.values[dice.below(count)] : draw_value(input.type.dtype, dice);
  }
}

OpInput draw_input(Dice& dice) {
  OpInput input{.type = {dice.of(kTypes), draw_shape(dice)}, .values = {}};
  keep_small(input.type.shape);
  input.known = dice.one_in(2);
  if (dice.one_in(2)) change_values(input, dice);
  return input;
}

void change_input(OpInput& input, Dice& dice) {
  if (!input.present) {
    input = draw_input(dice);
    return;
  }
  switch (dice.below(8)) {
    case 0:
      input.present = false;
      break;
    case 1:
      input.type.dtype = dice.of(kTypes);
      break;
    case 2:
      input.known = !input.known;
      break;
    case 3:
    case 4:
      change_shape(input.type.shape, dice);
      break;
    default:
      change_values(input, dice);
  }
  if (input.present) fit_values(input, dice);
}

}  // namespace

CaseMaker::CaseMaker() {
  for (OpCase& c : testing::all_cases()) {
    for (const auto& [name, attribute] : c.attributes) {
      if (const auto* text = std::get_if<std::string>(&attribute)) texts_[name].push_back(*text);
    }
    known_[c.op].push_back(std::move(c));
  }
}

Attribute CaseMaker::draw_attribute(const ops::AttrSpec& spec, Dice& dice) const {
  const auto ints = [&] {
    std::vector<int64_t> list(dice.below(5));
    for (int64_t& number : list) number = small_int(dice);
    return list;
  };
  const auto number = [&] {
    return static_cast<float>(std::clamp(draw_value(DType::kF32, dice), -3e38, 3e38));
  };
  switch (spec.kind) {
    case AttrKind::kInt:
      return small_int(dice);
    case AttrKind::kInts:
      return ints();
    case AttrKind::kFloat:
      return dice.one_in(8) ? std::numeric_limits<float>::quiet_NaN() : number();
    case AttrKind::kFloats: {
      std::vector<float> list(dice.below(5));
      for (float& value : list) value = number();
      return list;
    }
    case AttrKind::kText: {
      const auto words = texts_.find(spec.name);
      if (words == texts_.end() || dice.one_in(8)) return std::string("nonsense");
      return dice.of(words->second);
    }
    case AttrKind::kTensor: {
      const OpInput input = draw_input(dice);
      return std::make_shared<const Tensor>(testing::make_tensor(input, 0));
    }
    default:
      return std::vector<std::string>(dice.below(3), "nonsense");
  }
}

void CaseMaker::set_attribute(const ops::OpDef& op, OpCase& c, Dice& dice) const {
  if (op.attributes.empty()) return;
  const ops::AttrSpec& spec = dice.of(op.attributes);
  const auto found = c.attributes.find(spec.name);
  if (found != c.attributes.end() && dice.one_in(4)) {
    c.attributes.erase(found);
    return;
  }
  // One number of a list that fits in length goes further than a new list.
  if (found != c.attributes.end() && dice.one_in(2)) {
    auto* list = std::get_if<std::vector<int64_t>>(&found->second);
    if (list != nullptr && !list->empty()) {
      dice.of(*list) = small_int(dice);
      return;
    }
  }
  c.attributes[std::string(spec.name)] = draw_attribute(spec, dice);
}

void CaseMaker::change(const ops::OpDef& op, OpCase& c, Dice& dice) const {
  switch (dice.below(8)) {
    case 0:
    case 1:
      return set_attribute(op, c, dice);
    case 2:
      if (c.inputs.size() < static_cast<size_t>(op.inputs.most))
        c.inputs.push_back(draw_input(dice));
      return;
    case 3:
      // What all inputs have in common: element type, known before the run or not.
      for (OpInput& input : c.inputs) input.known = dice.one_in(4) ? input.known : !input.known;
      return;
    case 4: {
      const DType dtype = dice.of(kTypes);
      const DType old = c.inputs.empty() ? dtype : c.inputs[0].type.dtype;
      for (OpInput& input : c.inputs) {
        if (input.type.dtype == old && old != DType::kText) input.type.dtype = dtype;
      }
      return;
    }
    default:
      if (!c.inputs.empty()) change_input(dice.of(c.inputs), dice);
  }
}

OpCase CaseMaker::from_nothing(const ops::OpDef& op, Dice& dice) const {
  OpCase c{.op = std::string(op.name), .inputs = {}};
  const size_t least = static_cast<size_t>(op.inputs.least);
  const size_t most = std::min<size_t>(static_cast<size_t>(op.inputs.most), least + 4);
  const OpInput first = draw_input(dice);
  for (size_t i = least + dice.below(most - least + 1); i-- > 0;) {
    c.inputs.push_back(dice.one_in(2) ? first : draw_input(dice));
    if (dice.one_in(3)) c.inputs.back().type.dtype = first.type.dtype;
    if (c.inputs.size() > least && dice.one_in(4)) c.inputs.back().present = false;
  }
  for (const ops::AttrSpec& spec : op.attributes) {
    if (spec.required || dice.one_in(2)) {
      c.attributes[std::string(spec.name)] = draw_attribute(spec, dice);
    }
  }
  c.outputs.resize(static_cast<size_t>(std::max(op.outputs.least, 1)));
  return c;
}

OpCase CaseMaker::make(const ops::OpDef& op, Dice& dice) const {
  const auto known = known_.find(op.name);
  const bool fresh = known == known_.end() || dice.one_in(6);
  OpCase c = fresh ? from_nothing(op, dice) : dice.of(known->second);
  c.outputs.resize(std::max<size_t>(c.outputs.size(), 1));
  const size_t changes = fresh ? dice.below(2) : dice.below(4) + (dice.one_in(8) ? 0 : 1);
  for (size_t i = 0; i < changes; ++i) change(op, c, dice);
  if (dice.one_in(10)) {
    const auto most = static_cast<size_t>(std::min(op.outputs.most, op.outputs.least + 3));
    c.outputs.resize(dice.below(most + 1));
  }
  return c;
}

}  // namespace trainyard::fuzz
