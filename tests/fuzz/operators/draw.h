// Cases of operators as a stranger might write them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "ops/op_def.h"
#include "support/op_case.h"

namespace trainyard::fuzz {

// Numbers of one case, in turn.
class Dice {
 public:
  Dice(uint64_t seed, uint64_t number) : stream_(seed, number) {}

  size_t below(size_t bound) { return static_cast<size_t>(stream_.below(next_++, bound)); }
  bool one_in(size_t count) { return below(count) == 0; }
  template <typename List>
  auto& of(List& list) {
    return list[below(list.size())];
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

// Draws attributes, shapes, element types, values and what is absent: most cases begin with one
// that works, of those the operator's tests have, and change some of it; others begin with nothing.
class CaseMaker {
 public:
  CaseMaker();

  testing::OpCase make(const ops::OpDef& op, Dice& dice) const;

 private:
  testing::OpCase from_nothing(const ops::OpDef& op, Dice& dice) const;
  void change(const ops::OpDef& op, testing::OpCase& c, Dice& dice) const;
  void set_attribute(const ops::OpDef& op, testing::OpCase& c, Dice& dice) const;
  Attribute draw_attribute(const ops::AttrSpec& spec, Dice& dice) const;

  std::map<std::string, std::vector<testing::OpCase>, std::less<>> known_;
  std::map<std::string, std::vector<std::string>, std::less<>> texts_;  // by attribute
};

}  // namespace trainyard::fuzz
