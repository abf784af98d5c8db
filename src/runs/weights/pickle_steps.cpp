// What each opcode of a pickle does to the stack. Opcodes have no names here but their bytes, as in
// the format's own description (Python's pickletools).
#include <fmt/format.h>

#include "runs/weights/pickle.h"

namespace trainyard::runs {

// False for an opcode that only step_object knows, or nobody. Nothing is ever called: names and
// reductions are understood for tensors alone, so that a hostile pickle cannot run code.
bool Pickle::step(uint8_t opcode) {
  switch (opcode) {
    case 0x80:  // protocol
      require(unsigned_number(1) <= 5, "a pickle of a protocol above 5");
      return true;
    case 0x95:  // frame: its length says nothing that we need
      unsigned_number(8);
      return true;
    case '(':
      // A null pointer on the stack is the mark.
      stack_.push_back(nullptr);
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    default:
      return step_number(opcode) || step_text(opcode) || step_memo(opcode) || step_list(opcode) ||
             step_dict(opcode);
  }
}

bool Pickle::step_number(uint8_t opcode) {
  switch (opcode) {
    case 'N':
      push(&make(Kind::kNone));
      return true;
    case 0x88:
    case 0x89: {
      PickleValue& made = make(Kind::kBool);
      made.integer = opcode == 0x88 ? 1 : 0;
      push(&made);
      return true;
    }
    case 'J':
      // Signed, unlike the shorter forms.
      push_int(static_cast<int32_t>(unsigned_number(4)));
      return true;
    case 'K':
      push_int(static_cast<int64_t>(unsigned_number(1)));
      return true;
    case 'M':
      push_int(static_cast<int64_t>(unsigned_number(2)));
      return true;
    case 0x8a:
      push_int(long_number(unsigned_number(1)));
      return true;
    case 0x8b:
      push_int(long_number(unsigned_number(4)));
      return true;
    case 'G': {
      PickleValue& made = make(Kind::kFloat);
      made.number = float_number();
      push(&made);
      return true;
    }
    default:
      return false;
  }
}

// Byte strings and texts are not told apart: weights need either only as names.
bool Pickle::step_text(uint8_t opcode) {
  uint64_t length = 0;
  switch (opcode) {
    case 'X':
    case 'T':
    case 'B':
      length = unsigned_number(4);
      break;
    case 0x8c:
    case 'U':
    case 'C':
      length = unsigned_number(1);
      break;
    case 0x8d:
    case 0x8e:
      length = unsigned_number(8);
      break;
    default:
      return false;
  }
  PickleValue& made = make(Kind::kText);
  made.text = text(length);
  push(&made);
  return true;
}

bool Pickle::step_memo(uint8_t opcode) {
  switch (opcode) {
    case 'q':
    case 'r': {
      const uint64_t index = unsigned_number(opcode == 'q' ? 1 : 4);
      // Writers number the values, each of which takes a byte at least, so the memo stays in
      // proportion to the file.
      if (index > opcode_at_) {
        fail(fmt::format("memo {} behind {} bytes, expected at most as many", index, opcode_at_));
      }
      if (index >= memo_.size()) memo_.resize(index + 1, nullptr);
      memo_[index] = pop();
      push(memo_[index]);
      return true;
    }
    case 0x94:
      memo_.push_back(pop());
      push(memo_.back());
      return true;
    case 'h':
    case 'j': {
      const uint64_t index = unsigned_number(opcode == 'h' ? 1 : 4);
      require(index < memo_.size() && memo_[index] != nullptr, "a memo that was never written");
      push(memo_[index]);
      return true;
    }
    default:
      return false;
  }
}

bool Pickle::step_list(uint8_t opcode) {
  constexpr std::string_view kNoList = "items for something that is no list";
  switch (opcode) {
    case ']':
    case ')':
      push_list({});
      return true;
    case 'l':
    case 't':
      push_list(pop_to_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      // 0x85 to 0x87: tuples of one to three, which are lists here.
      std::vector<const PickleValue*> items(opcode - 0x84U);
      for (size_t i = items.size(); i > 0; --i) items[i - 1] = pop();
      push_list(std::move(items));
      return true;
    }
    case 'a': {
      const PickleValue* item = pop();
      top(Kind::kList, kNoList).items.push_back(item);
      return true;
    }
    case 'e': {
      const std::vector<const PickleValue*> items = pop_to_mark();
      PickleValue& list = top(Kind::kList, kNoList);
      list.items.insert(list.items.end(), items.begin(), items.end());
      return true;
    }
    default:
      return false;
  }
}

bool Pickle::step_dict(uint8_t opcode) {
  constexpr std::string_view kNoDict = "members for something that is no dictionary";
  constexpr std::string_view kOdd = "a key without a value";
  switch (opcode) {
    case '}':
      push(&make(Kind::kDict));
      return true;
    case 'd': {
      std::vector<const PickleValue*> items = pop_to_mark();
      require(items.size() % 2 == 0, kOdd);
      PickleValue& made = make(Kind::kDict);
      // A dictionary is its keys and values in turn; later values of a key do not replace earlier
      // ones.
      made.items = std::move(items);
      push(&made);
      return true;
    }
    case 's': {
      const PickleValue* value = pop();
      const PickleValue* key = pop();
      PickleValue& dict = top(Kind::kDict, kNoDict);
      dict.items.insert(dict.items.end(), {key, value});
      return true;
    }
    case 'u': {
      const std::vector<const PickleValue*> items = pop_to_mark();
      require(items.size() % 2 == 0, kOdd);
      PickleValue& dict = top(Kind::kDict, kNoDict);
      dict.items.insert(dict.items.end(), items.begin(), items.end());
      return true;
    }
    default:
      return false;
  }
}

// Opcodes that make objects, in the few forms that torch.save writes; all others are refused by
// number.
void Pickle::step_object(uint8_t opcode) {
  switch (opcode) {
    case 'c': {
      const std::string_view module = line();
      return push_name(module, line());
    }
    case 0x93: {
      const PickleValue* name = pop();
      const PickleValue* module = pop();
      require(name->kind == Kind::kText && module->kind == Kind::kText, "a name that is no text");
      return push_name(module->text, name->text);
    }
    case 'Q':
      return push_storage();
    case 'R':
      return reduce();
    case 'b':
      return build();
    default:
      fail(
          fmt::format("opcode {:#04x} of Python's pickle, which weights do not need; is this a "
                      "file of torch.save(model.state_dict(), FILE)?",
                      opcode));
  }
}

}  // namespace trainyard::runs
