// The part of Python's pickle format that PyTorch's weights use, read as data: dictionaries, lists,
// numbers, texts, and tensors that refer to storages. Nothing is ever called: a stream that names
// anything else is refused with that name.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace trainyard::runs {

struct PickleValue {
  enum class Kind : uint8_t {
    kNone,
    kBool,
    kInt,
    kFloat,
    kText,
    kList,  // and tuples
    kDict,
    kStorage,
    kTensor,
    kName,  // one of the few names that are understood
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;        // kInt, kBool; kStorage: elements; kTensor: offset in elements
  double number = 0;          // kFloat
  std::string text;           // kText, kName; kStorage: its key
  DType dtype = DType::kF32;  // kStorage, kTensor
  std::vector<const PickleValue*> items;  // kDict: key, value, key, value …
  const PickleValue* storage = nullptr;   // kTensor
  std::vector<int64_t> shape;             // kTensor
  std::vector<int64_t> strides;           // kTensor, in elements
};

// "a dictionary", "text", …
std::string_view kind_text(PickleValue::Kind kind);

// Values of one or more streams; pointers to them live as long as this does.
class Pickle {
 public:
  // `origin` names the file in errors, `base` is where `bytes` begin in it.
  Pickle(std::span<const std::byte> bytes, std::string origin, int64_t base = 0);

  // Reads the stream at the current place, and stops behind it. Throws Error with the byte for
  // anything that is not data as above.
  const PickleValue& next();
  // Of the bytes given: where the last stream ended.
  size_t position() const { return at_; }
  // Of the storage that some tensor named; nothing if none did.
  std::optional<DType> dtype_of_storage(std::string_view key) const;

 private:
  using Kind = PickleValue::Kind;

  [[noreturn]] void fail(std::string_view problem) const;
  void require(bool holds, std::string_view problem) const {
    if (!holds) fail(problem);
  }

  uint64_t unsigned_number(int bytes);
  int64_t long_number(uint64_t bytes);
  double float_number();
  std::string_view text(uint64_t bytes);
  std::string_view line();

  PickleValue& make(Kind kind);
  void push(const PickleValue* value);
  const PickleValue* pop();
  std::vector<const PickleValue*> pop_to_mark();
  // The list or dictionary on top, which grows.
  PickleValue& top(Kind kind, std::string_view action);
  const std::vector<const PickleValue*>& fields(const PickleValue* value, size_t least,
                                                std::string_view what) const;
  std::vector<int64_t> integers(const PickleValue* value, std::string_view what) const;

  bool step(uint8_t opcode);
  bool step_number(uint8_t opcode);
  bool step_text(uint8_t opcode);
  bool step_memo(uint8_t opcode);
  bool step_list(uint8_t opcode);
  bool step_dict(uint8_t opcode);
  void step_object(uint8_t opcode);

  void push_name(std::string_view module, std::string_view name);
  void push_list(std::vector<const PickleValue*> items);
  void push_int(int64_t value);
  void push_storage();
  void reduce();
  void rebuild_tensor(const std::vector<const PickleValue*>& arguments);
  void build();

  std::span<const std::byte> bytes_;
  std::string origin_;
  int64_t base_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::deque<PickleValue> values_;
  size_t pairs_ = 0;  // of dictionaries made from lists
  std::map<std::string, DType, std::less<>> storages_;
  // Null: a mark.
  std::vector<const PickleValue*> stack_;
  std::vector<const PickleValue*> memo_;
};

}  // namespace trainyard::runs
