#include "ops/cases.h"

#include <iterator>

namespace trainyard::testing {

OpCases all_cases() {
  OpCases all;
  for (OpCases (*family)() : {
           binary_cases,
           data_movement_cases,
           indexing_cases,
           nn_cases,
           reduce_cases,
           unary_cases,
       }) {
    OpCases cases = family();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace trainyard::testing
