#include <algorithm>

#include "base/csv.h"
#include "base/error.h"
#include "base/text.h"
#include "cluster/predict/embedded.h"
#include "cluster/transformer/step_time.h"

namespace trainyard::transformer {
namespace {

constexpr std::string_view kFactorsFile = "transformer_factors.csv";
constexpr std::string_view kFallback = "megatron-core";
constexpr std::string_view kShardedFallback = "fsdp-compile";
constexpr std::string_view kOfExperts = "-experts";

FittedStack read_stack(const CsvRow& row) {
  FittedStack stack;
  stack.name = row.text("name");
  stack.stacks = split(row.text("stacks"), '|');
  stack.rows = row.integer("rows");
  stack.known = {row.number("low"), row.number("high")};
  stack.far = {row.number("far_low"), row.number("far_high")};
  stack.generations = split(row.text("generations"), '|');
  for (size_t i = 0; i < kNumFactors; ++i) {
    stack.factors[i] = row.number(factor_infos()[i].name);
    if (!(stack.factors[i] > 0)) row.fail(factor_infos()[i].name, "expected a number above 0");
  }
  return stack;
}

std::vector<FittedStack> read_stacks() {
  const CsvTable table = CsvTable::parse(embedded_text(predict::embedded_files(), kFactorsFile),
                                         "catalog/" + std::string(kFactorsFile));
  std::vector<FittedStack> stacks;
  for (size_t i = 0; i < table.size(); ++i) stacks.push_back(read_stack(table.row(i)));
  return stacks;
}

const FittedStack* named_stack(std::string_view name) {
  const auto found = std::ranges::find(fitted_stacks(), name, &FittedStack::name);
  return found == fitted_stacks().end() ? nullptr : &*found;
}

const FittedStack* stack_of_result(std::string_view published) {
  for (const FittedStack& stack : fitted_stacks()) {
    for (const std::string& word : stack.stacks) {
      if (!word.empty() && published.starts_with(word)) return &stack;
    }
  }
  return nullptr;
}

}  // namespace

const std::array<FactorInfo, kNumFactors>& factor_infos() {
  static const std::array<FactorInfo, kNumFactors> infos = {{
      {"matmul", 0.75, 0.3},
      {"edge", 100, 1},
      {"memory", 0.6, 0.7},
      {"attention", 0.6, 0.5},
      {"host", 1e-4, 1.5},
      {"tensor_link", 0.6, 0.7},
      {"tensor_delay", 2e-5, 1},
      {"data_link", 0.6, 0.7},
      {"overlap", 2, 0.7},
      {"pipe", 1, 1},
      {"pipe_delay", 2e-5, 1},
      {"step", 0.01, 1.5},
      {"fp8", 0.75, 0.3},
      {"fp4", 0.6, 0.3},
      {"expert_link", 0.5, 0.7},
      {"grouped", 0.7, 0.5},
      {"expert_host", 5e-5, 1.5},
      {"low_power", 0.75, 0.2},
      {"pascal", 1, 0.2},
      {"volta", 1, 0.2},
      {"turing", 1, 0.2},
      {"ampere", 1, 0.2},
      {"ada", 1, 0.2},
      {"hopper", 0.8, 0.2},
      {"blackwell", 0.7, 0.2},
      {"cdna", 0.85, 0.2},
  }};
  return infos;
}

Factors usual_factors() {
  Factors factors;
  for (size_t i = 0; i < kNumFactors; ++i) factors[i] = factor_infos()[i].usual;
  return factors;
}

int generation_factor(std::string_view generation) {
  for (int i = kPascal; i < kNumFactors; ++i) {
    if (generation.starts_with(factor_infos()[static_cast<size_t>(i)].name)) return i;
  }
  return -1;
}

std::span<const FittedStack> fitted_stacks() {
  static const std::vector<FittedStack> stacks = read_stacks();
  return stacks;
}

bool FittedStack::knows(std::string_view generation) const {
  return std::ranges::find(generations, generation) != generations.end();
}

const FittedStack& stack_for(std::string_view published, bool experts, bool sharded) {
  const FittedStack* found = named_stack(published);
  if (found == nullptr) found = stack_of_result(published);
  if (found == nullptr) found = named_stack(sharded ? kShardedFallback : kFallback);
  TY_CHECK(found != nullptr, "no stack {}", kFallback);
  const FittedStack* own =
      experts ? named_stack(fmt::format("{}{}", found->name, kOfExperts)) : nullptr;
  return own != nullptr ? *own : *found;
}

const FittedStack& stack_named(std::string_view name, bool experts) {
  if (named_stack(name) != nullptr || stack_of_result(name) != nullptr) {
    return stack_for(name, experts);
  }
  std::vector<std::string> names;
  for (const FittedStack& stack : fitted_stacks()) {
    if (!stack.name.ends_with(kOfExperts)) names.push_back(stack.name);
  }
  throw_error("`stack` is '{}', expected one of {}.{}", name, join(names, ", "),
              did_you_mean(name, names));
}

std::string factors_csv(std::span<const FittedStack> stacks) {
  std::string out =
      "# Made by `trainyard transformer validate --fit`; docs/predict-transformers.md says what "
      "the "
      "factors are.\nname,stacks,rows,generations,low,high,far_low,far_high";
  for (const FactorInfo& info : factor_infos()) out += fmt::format(",{}", info.name);
  out += '\n';
  for (const FittedStack& stack : stacks) {
    out += fmt::format("{},{},{},{},{:.3f},{:.3f},{:.3f},{:.3f}", stack.name,
                       join(stack.stacks, "|"), stack.rows, join(stack.generations, "|"),
                       stack.known.low, stack.known.high, stack.far.low, stack.far.high);
    for (const double factor : stack.factors) out += fmt::format(",{:.4g}", factor);
    out += '\n';
  }
  return out;
}

}  // namespace trainyard::transformer
