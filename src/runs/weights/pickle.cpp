#include "runs/weights/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "tensor/dtype.h"

namespace trainyard::runs {
namespace {

// The names that a file of weights may mention, and what each means to us.
enum class PickleMeaning : uint8_t { kDict, kTensor, kParameter, kSize, kStorage };

// More than any operator takes.
constexpr size_t kMostDimensions = 16;

struct KnownName {
  std::string_view name;
  PickleMeaning meaning;
  DType dtype = DType::kF32;
};

constexpr std::array<KnownName, 17> kKnown = {{
    {"collections.OrderedDict", PickleMeaning::kDict},
    {"__builtin__.dict", PickleMeaning::kDict},
    {"builtins.dict", PickleMeaning::kDict},
    {"torch._utils._rebuild_tensor", PickleMeaning::kTensor},
    {"torch._utils._rebuild_tensor_v2", PickleMeaning::kTensor},
    {"torch._utils._rebuild_parameter", PickleMeaning::kParameter},
    {"torch.Size", PickleMeaning::kSize},
    {"torch.FloatStorage", PickleMeaning::kStorage, DType::kF32},
    {"torch.DoubleStorage", PickleMeaning::kStorage, DType::kF64},
    {"torch.HalfStorage", PickleMeaning::kStorage, DType::kF16},
    {"torch.BFloat16Storage", PickleMeaning::kStorage, DType::kBF16},
    {"torch.LongStorage", PickleMeaning::kStorage, DType::kI64},
    {"torch.IntStorage", PickleMeaning::kStorage, DType::kI32},
    {"torch.ShortStorage", PickleMeaning::kStorage, DType::kI16},
    {"torch.CharStorage", PickleMeaning::kStorage, DType::kI8},
    {"torch.ByteStorage", PickleMeaning::kStorage, DType::kU8},
    {"torch.BoolStorage", PickleMeaning::kStorage, DType::kBool},
}};

const KnownName* find_known(std::string_view name) {
  const auto found = std::find_if(kKnown.begin(), kKnown.end(),
                                  [name](const KnownName& known) { return known.name == name; });
  return found == kKnown.end() ? nullptr : &*found;
}

bool is_known_pickle_name(std::string_view name) {
  return find_known(name) != nullptr;
}

// Of a known name.
PickleMeaning pickle_meaning(std::string_view name) {
  const KnownName* known = find_known(name);
  TY_CHECK(known != nullptr, "'{}' is no known name", name);
  return known->meaning;
}

// Of "torch.FloatStorage" and its kin; nothing for other names.
std::optional<DType> storage_dtype(std::string_view name) {
  const KnownName* known = find_known(name);
  if (known == nullptr || known->meaning != PickleMeaning::kStorage) return std::nullopt;
  return known->dtype;
}

// Far more than any network's: a file of nothing but values would otherwise fill the memory.
constexpr size_t kMostValues = 4'000'000;
constexpr uint64_t kLongestText = 1 << 20;

}  // namespace

std::string_view kind_text(PickleValue::Kind kind) {
  switch (kind) {
    case PickleValue::Kind::kNone:
      return "None";
    case PickleValue::Kind::kBool:
      return "a truth value";
    case PickleValue::Kind::kInt:
    case PickleValue::Kind::kFloat:
      return "a number";
    case PickleValue::Kind::kText:
      return "a text";
    case PickleValue::Kind::kList:
      return "a list";
    case PickleValue::Kind::kDict:
      return "a dictionary";
    case PickleValue::Kind::kStorage:
      return "a storage";
    case PickleValue::Kind::kTensor:
      return "a tensor";
    case PickleValue::Kind::kName:
      return "a name";
  }
  return "nothing";
}

Pickle::Pickle(std::span<const std::byte> bytes, std::string origin, int64_t base)
    : bytes_(bytes), origin_(std::move(origin)), base_(base) {}

void Pickle::fail(std::string_view problem) const {
  throw_error("{}: byte {}: {}", origin_, base_ + static_cast<int64_t>(opcode_at_), problem);
}

uint64_t Pickle::unsigned_number(int bytes) {
  const auto count = static_cast<size_t>(bytes);
  require(bytes_.size() - at_ >= count, "the file ends within a value; it is cut short");
  uint64_t value = 0;
  std::memcpy(&value, bytes_.data() + at_, count);
  at_ += count;
  return value;
}

int64_t Pickle::long_number(uint64_t bytes) {
  require(bytes <= 8, "a whole number of more than 8 bytes");
  if (bytes == 0) return 0;
  uint64_t value = unsigned_number(static_cast<int>(bytes));
  const uint64_t unused = 64 - 8 * bytes;
  // The sign is in the highest bit that is there.
  return static_cast<int64_t>(value << unused) >> unused;
}

double Pickle::float_number() {
  return std::bit_cast<double>(__builtin_bswap64(unsigned_number(8)));
}

std::string_view Pickle::text(uint64_t bytes) {
  require(bytes <= bytes_.size() - at_, "the file ends within a text; it is cut short");
  require(bytes <= kLongestText, "a text of more than 1 MiB");
  const std::string_view found(reinterpret_cast<const char*>(bytes_.data()) + at_, bytes);
  at_ += bytes;
  return found;
}

std::string_view Pickle::line() {
  const std::string_view rest(reinterpret_cast<const char*>(bytes_.data()) + at_,
                              bytes_.size() - at_);
  const size_t end = rest.substr(0, kLongestText).find('\n');
  require(end != std::string_view::npos, "a name that does not end");
  at_ += end + 1;
  return rest.substr(0, end);
}

PickleValue& Pickle::make(Kind kind) {
  require(values_.size() < kMostValues, "more than 4 million values");
  PickleValue& value = values_.emplace_back();
  value.kind = kind;
  return value;
}

void Pickle::push(const PickleValue* value) {
  stack_.push_back(value);
}

const PickleValue* Pickle::pop() {
  require(!stack_.empty() && stack_.back() != nullptr, "a value is missing on the stack");
  const PickleValue* value = stack_.back();
  stack_.pop_back();
  return value;
}

std::vector<const PickleValue*> Pickle::pop_to_mark() {
  size_t mark = stack_.size();
  while (mark > 0 && stack_[mark - 1] != nullptr) --mark;
  require(mark > 0, "a mark is missing on the stack");
  std::vector<const PickleValue*> items(stack_.begin() + static_cast<int64_t>(mark), stack_.end());
  stack_.resize(mark - 1);
  return items;
}

PickleValue& Pickle::top(Kind kind, std::string_view action) {
  require(!stack_.empty() && stack_.back() != nullptr && stack_.back()->kind == kind, action);
  // All values are ours; outside they are constant.
  return const_cast<PickleValue&>(*stack_.back());
}

const std::vector<const PickleValue*>& Pickle::fields(const PickleValue* value, size_t least,
                                                      std::string_view what) const {
  require(value->kind == Kind::kList && value->items.size() >= least, what);
  return value->items;
}

std::vector<int64_t> Pickle::integers(const PickleValue* value, std::string_view what) const {
  std::vector<int64_t> found;
  require(fields(value, 0, what).size() <= kMostDimensions, what);
  for (const PickleValue* item : value->items) {
    require(item->kind == Kind::kInt && item->integer >= 0, what);
    found.push_back(item->integer);
  }
  return found;
}

const PickleValue& Pickle::next() {
  stack_.clear();
  memo_.clear();
  while (true) {
    opcode_at_ = at_;
    const auto opcode = static_cast<uint8_t>(unsigned_number(1));
    if (opcode == '.') {
      const PickleValue* value = pop();
      require(stack_.empty(), "values are left on the stack at the end");
      return *value;
    }
    if (!step(opcode)) step_object(opcode);
  }
}

std::optional<DType> Pickle::dtype_of_storage(std::string_view key) const {
  const auto found = storages_.find(key);
  return found == storages_.end() ? std::nullopt : std::optional(found->second);
}

void Pickle::push_int(int64_t value) {
  PickleValue& made = make(Kind::kInt);
  made.integer = value;
  push(&made);
}

void Pickle::push_list(std::vector<const PickleValue*> items) {
  PickleValue& made = make(Kind::kList);
  made.items = std::move(items);
  push(&made);
}

void Pickle::push_name(std::string_view module, std::string_view name) {
  const std::string full = std::string(module) + "." + std::string(name);
  if (!is_known_pickle_name(full)) {
    fail(
        fmt::format("the file asks for '{}', which is neither a tensor, a dictionary, a list nor "
                    "a number; nothing of it was run. Save the weights alone: "
                    "torch.save(model.state_dict(), FILE)",
                    full.substr(0, 80)));
  }
  PickleValue& made = make(Kind::kName);
  made.text = full;
  push(&made);
}

// ('storage', type, key, device, elements[, view])
void Pickle::push_storage() {
  constexpr std::string_view kWrong = "a reference that is no storage of a tensor";
  const auto& items = fields(pop(), 5, kWrong);
  require(items[0]->kind == Kind::kText && items[0]->text == "storage", kWrong);
  require(items[1]->kind == Kind::kName, kWrong);
  const auto dtype = storage_dtype(items[1]->text);
  require(dtype.has_value(), kWrong);
  require(items[2]->kind == Kind::kText, kWrong);
  require(items[4]->kind == Kind::kInt && items[4]->integer >= 0, kWrong);
  require(items.size() < 6 || items[5]->kind == Kind::kNone,
          "a view of a storage, as PyTorch before 0.4 wrote it; load and save it again there");
  PickleValue& made = make(Kind::kStorage);
  made.dtype = *dtype;
  made.text = items[2]->text;
  made.integer = items[4]->integer;
  storages_.emplace(made.text, made.dtype);
  push(&made);
}

// (storage, offset, shape, strides, …)
void Pickle::rebuild_tensor(const std::vector<const PickleValue*>& arguments) {
  constexpr std::string_view kWrong = "a tensor without storage, offset, shape and strides";
  require(arguments.size() >= 4 && arguments[0]->kind == Kind::kStorage &&
              arguments[1]->kind == Kind::kInt && arguments[1]->integer >= 0,
          kWrong);
  PickleValue& made = make(Kind::kTensor);
  made.storage = arguments[0];
  made.dtype = arguments[0]->dtype;
  made.integer = arguments[1]->integer;
  made.shape = integers(arguments[2], kWrong);
  made.strides = integers(arguments[3], kWrong);
  require(made.shape.size() == made.strides.size(), kWrong);
  push(&made);
}

void Pickle::reduce() {
  const PickleValue* arguments = pop();
  const PickleValue* callee = pop();
  require(callee->kind == Kind::kName && arguments->kind == Kind::kList,
          "a call of something that is no name");
  const std::vector<const PickleValue*>& items = arguments->items;
  switch (pickle_meaning(callee->text)) {
    case PickleMeaning::kDict: {
      PickleValue& made = make(Kind::kDict);
      if (!items.empty()) {
        constexpr std::string_view kWrong = "a dictionary of something that are no pairs";
        // One list may be called for again and again.
        pairs_ += fields(items[0], 0, kWrong).size();
        require(pairs_ <= kMostValues, "dictionaries of more than 4 million members");
        for (const PickleValue* pair : items[0]->items) {
          const auto& both = fields(pair, 2, kWrong);
          made.items.insert(made.items.end(), {both[0], both[1]});
        }
      }
      return push(&made);
    }
    case PickleMeaning::kTensor:
      return rebuild_tensor(items);
    case PickleMeaning::kParameter:
      require(!items.empty() && items[0]->kind == Kind::kTensor, "a parameter without a tensor");
      return push(items[0]);
    case PickleMeaning::kSize:
      require(items.size() == 1, "a size without its numbers");
      return push(items[0]);
    case PickleMeaning::kStorage:
      break;
  }
  fail(fmt::format("a call of '{}'", callee->text));
}

// Attributes of an object. PyTorch hangs the versions of its modules on a state's dictionary.
void Pickle::build() {
  const PickleValue* state = pop();
  require(!stack_.empty() && stack_.back() != nullptr && stack_.back()->kind == Kind::kDict &&
              state->kind == Kind::kDict,
          "attributes for something that is no dictionary");
}

}  // namespace trainyard::runs
