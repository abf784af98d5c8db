#include "ops/cases.h"

#include <iterator>

namespace trainyard::testing {

OpCases all_cases() {
  OpCases all;
  for (OpCases (*family)() : {
           binary_cases,
           convolution_cases,
           data_movement_cases,
           indexing_cases,
           internal_cases,
           linear_cases,
           loss_cases,
           newer_cases,
           nn_cases,
           normalization_cases,
           optimizer_cases,
           pooling_cases,
           quantization_cases,
           recurrent_cases,
           reduce_cases,
           sampling_cases,
           unary_cases,
       }) {
    OpCases cases = family();
    std::move(cases.begin(), cases.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace trainyard::testing
