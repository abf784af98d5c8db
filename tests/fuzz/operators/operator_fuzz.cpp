// Draws cases of every operator that a file can name and runs them, each within limits of time and
// memory: any is computed or refused with an error, and what is computed is what the reference
// computes. Best with the sanitizers of the asan preset.
//
//   operator_fuzz [--seed N] [--cases N] [--seconds N] [--first N] [--operator NAME]
//
// Every case has a number; `--seed S --first N --cases 1` runs it again. Ends with 1 if something
// was found.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <iostream>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/core.h>

#include "fuzz/operators/draw.h"
#include "fuzz/operators/run.h"
#include "ops/control_flow.h"

namespace trainyard::fuzz {
namespace {

struct Options {
  uint64_t seed = 1;
  uint64_t first = 0;
  uint64_t cases = UINT64_MAX;
  double seconds = 0;  // of processor time; 0: until the cases are done
  std::string only;
};

// Shared with the process that runs the cases, which may die at any moment.
struct Progress {
  uint64_t number;
  uint64_t computed, refused, compared;
  double seconds;
  char wrong[2048];
  bool found;
};

std::vector<const ops::OpDef*> drawn_operators(const std::string& only) {
  // What only the compiler makes has operands that a pass has checked.
  static const std::set<std::string_view> kInternal = {
#define OP(name) #name,
#include "ops/internal_op_list.def"
#undef OP
  };
  std::vector<const ops::OpDef*> list;
  for (const ops::OpDef* op : ops::all_ops()) {
    const bool wanted = only.empty() || op->name == only;
    if (wanted && !kInternal.contains(op->name) && !ops::is_control_flow(op->name)) {
      list.push_back(op);
    }
  }
  return list;
}

double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// A case that computes longer than this ends the process.
void limit_time() {
  constexpr int kMostSeconds = 10;
  const itimerval limit{{0, 0}, {kMostSeconds, 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
}

// g++ defines a macro, clang has a feature.
#ifdef __SANITIZE_ADDRESS__
#define TY_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TY_ADDRESS_SANITIZER
#endif
#endif

// The address sanitizer takes terabytes of addresses; it has limits of its own (tools/fuzz).
void limit_memory() {
#ifndef TY_ADDRESS_SANITIZER
  constexpr rlim_t kMostBytes = rlim_t{3} << 30U;
  const rlimit limit{kMostBytes, kMostBytes};
  setrlimit(RLIMIT_AS, &limit);
#endif
}

testing::OpCase case_of(const CaseMaker& maker, const std::vector<const ops::OpDef*>& list,
                        uint64_t seed, uint64_t number) {
  Dice dice(seed, number);
  return maker.make(*list[number % list.size()], dice);
}

std::string text_of(const testing::OpCase& c) {
  std::ostringstream out;
  out << c;
  for (const testing::OpInput& input : c.inputs) {
    out << (input.known ? "known" : "given");
    for (size_t i = 0; i < std::min<size_t>(input.values.size(), 8); ++i)
      out << " " << input.values[i];
    out << "; ";
  }
  return std::move(out).str();
}

[[noreturn]] void run_cases(const CaseMaker& maker, const std::vector<const ops::OpDef*>& list,
                            const Options& options, Progress& progress) {
  limit_memory();
  const double begun = progress.seconds;
  while (progress.number - options.first < options.cases) {
    limit_time();
    const Outcome outcome = run_case(case_of(maker, list, options.seed, progress.number));
    ++(outcome.computed ? progress.computed : progress.refused);
    progress.compared += static_cast<uint64_t>(outcome.compared);
    progress.seconds = begun + processor_seconds();
    if (!outcome.wrong.empty()) {
      std::snprintf(progress.wrong, sizeof progress.wrong, "%s", outcome.wrong.c_str());
      progress.found = true;
      _exit(3);
    }
    ++progress.number;
    if (options.seconds > 0 && progress.seconds >= options.seconds) break;
  }
  _exit(0);
}

std::string end_of(int status, const Progress& progress) {
  if (progress.found) return progress.wrong;
  if (WIFSIGNALED(status)) {
    return WTERMSIG(status) == SIGPROF ? "takes too long"
                                       : fmt::format("signal {}", WTERMSIG(status));
  }
  return fmt::format("a sanitizer, exit code {}", WEXITSTATUS(status));
}

int fuzz(const Options& options) {
  const auto list = drawn_operators(options.only);
  if (list.empty()) {
    std::cerr << "operator_fuzz: no operator '" << options.only << "'\n";
    return 2;
  }
  const CaseMaker maker;
  auto* progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (progress == MAP_FAILED) return 2;
  *progress = {};
  progress->number = options.first;
  uint64_t findings = 0;
  while (true) {
    progress->found = false;
    std::cout.flush();
    const pid_t child = fork();
    if (child == 0) run_cases(maker, list, options, *progress);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
    ++findings;
    std::cout << "case " << progress->number << ": " << end_of(status, *progress) << "\n  "
              << text_of(case_of(maker, list, options.seed, progress->number)) << "\n";
    ++progress->number;
  }
  std::cout << fmt::format(
      "{} operators, {} cases of seed {} in {:.0f} s: {} computed, {} refused, {} runs compared "
      "with the reference, {} findings\n",
      list.size(), progress->number - options.first, options.seed, progress->seconds,
      progress->computed, progress->refused, progress->compared, findings);
  return findings == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trainyard::fuzz

int main(int count, char** words) {
  trainyard::fuzz::Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view flag = words[i];
    if (flag == "--seed") options.seed = std::strtoull(words[i + 1], nullptr, 10);
    if (flag == "--first") options.first = std::strtoull(words[i + 1], nullptr, 10);
    if (flag == "--cases") options.cases = std::strtoull(words[i + 1], nullptr, 10);
    if (flag == "--seconds") options.seconds = std::strtod(words[i + 1], nullptr);
    if (flag == "--operator") options.only = words[i + 1];
  }
  return trainyard::fuzz::fuzz(options);
}
