// `trainyard allreduce`: times the ways to sum over ranks, beside MPI's own and the predictions.
#include <memory>

#include "base/byte_size.h"
#include "base/error.h"
#include "base/text.h"
#include "dist/launch.h"
#include "dist/mpi/mpi_ranks.h"
#include "program/command.h"
#include "studies/scaling/all_reduce.h"
#include "studies/scaling/all_reduce_view.h"

namespace trainyard::cli {
namespace {

struct AllreduceOptions {
  std::vector<int64_t> workers = {2};
  std::string sizes = "1K..256M";
  std::string algorithm = "all";
  double seconds = 0.3;
  report::Format format = report::Format::kText;
  std::set<std::string> given;
};

constexpr int64_t kAllreduceMostWorkers = 1024;
constexpr int64_t kMostBytes = int64_t{16} << 30;
constexpr int64_t kItem = 4;
// From one size of a range to the next.
constexpr int64_t kStep = 4;

int64_t parse_size(const std::string& text) {
  const int64_t bytes = parse_bytes(text, "--sizes");
  TY_REQUIRE(kItem <= bytes && bytes <= kMostBytes, "--sizes: {} is not in 4..16G", text);
  TY_REQUIRE(bytes % kItem == 0, "--sizes: {} is no multiple of 4, the bytes of a float32", text);
  return bytes;
}

// "1K..256M,3K": ranges in steps of 4x, and single sizes.
std::vector<int64_t> parse_sizes(const std::string& text) {
  std::vector<int64_t> sizes;
  for (const std::string& part : split(text, ',')) {
    const size_t dots = part.find("..");
    if (dots == std::string::npos) {
      sizes.push_back(parse_size(part));
      continue;
    }
    const int64_t first = parse_size(part.substr(0, dots));
    const int64_t last = parse_size(part.substr(dots + 2));
    TY_REQUIRE(first > 0 && first <= last, "--sizes: {} is no range that grows from above 0", part);
    for (int64_t bytes = first; bytes <= last; bytes *= kStep) sizes.push_back(bytes);
  }
  return sizes;
}

std::vector<const dist::AllReduce*> parse_algorithms(const std::string& text) {
  if (text == "all") return {dist::all_reduces().begin(), dist::all_reduces().end()};
  std::vector<const dist::AllReduce*> algorithms;
  for (const std::string& name : split(text, ',')) {
    algorithms.push_back(&dist::find_all_reduce(name));
  }
  return algorithms;
}

void check(const AllreduceOptions& options) {
  TY_REQUIRE(!options.workers.empty(), "--workers is empty; expected numbers such as 2,4");
  for (const int64_t workers : options.workers) {
    TY_REQUIRE(workers >= 1 && workers <= kAllreduceMostWorkers, "--workers: {} is not in 1..{}",
               workers, kAllreduceMostWorkers);
  }
  parse_sizes(options.sizes);
  parse_algorithms(options.algorithm);
}

// Every rank runs this; only rank 0 prints.
int run_rank_allreduce(const AllreduceOptions& options, std::ostream& out) {
  return dist::run_as_mpi_rank([&](dist::Communicator& comm) {
    if (options.given.contains("workers")) {
      TY_REQUIRE(options.workers.size() == 1 && options.workers[0] == comm.size(),
                 "--workers differs from the {} ranks that the launcher started; leave it out",
                 comm.size());
    }
    dist::Collectives collectives(comm);
    const measure::AllReduceRun run =
        measure::measure_all_reduces(collectives, parse_sizes(options.sizes),
                                     parse_algorithms(options.algorithm), options.seconds);
    if (comm.rank() == 0) {
      out << report::render(report::all_reduce_document(report::all_reduce_json(run)),
                            options.format);
    }
    return 0;
  });
}

// A job for each number of ranks, whose JSON comes back on standard output.
int run_jobs_allreduce(const AllreduceOptions& options, std::ostream& out) {
  Json data = Json::object({{"rows", Json::array()}, {"fabrics", Json::array()}});
  for (const int64_t workers : options.workers) {
    const std::vector<std::string> arguments = {"allreduce",
                                                "--sizes",
                                                options.sizes,
                                                "--algorithm",
                                                options.algorithm,
                                                "--seconds",
                                                fmt::format("{}", options.seconds),
                                                "--json"};
    const std::string output = dist::run_as_ranks(workers, arguments, dist::Binding::kDefault);
    const Json job = Json::parse(output, "output of the ranks");
    for (const char* key : {"rows", "fabrics"}) {
      for (const Json& item : job.at(key).items()) data[key].push_back(item);
    }
  }
  out << report::render(report::all_reduce_document(std::move(data)), options.format);
  return 0;
}

Runner setup_allreduce(Args& args) {
  auto options = std::make_shared<AllreduceOptions>();
  args.option("--workers", options->workers, "ranks, one job after another, as 2,4");
  args.option("--sizes", options->sizes,
              "bytes of the message: 1K..256M in steps of 4x, or 64K,4M,1G");
  args.option("--algorithm", options->algorithm,
              "all, or some of reduce-broadcast, tree, ring, butterfly, hierarchical, shared, mpi "
              "(the library's own), auto");
  args.option("--seconds", options->seconds, "seconds to repeat each measurement",
              between(0.001, 3600));
  args.format(options->format);
  args.given(options->given);
  return [options](std::ostream& out) {
    check(*options);
    return dist::launched_as_rank() ? run_rank_allreduce(*options, out)
                                    : run_jobs_allreduce(*options, out);
  };
}

}  // namespace

extern const Command kAllReduce = {
    .name = "allreduce",
    .group = "Train",
    .summary = "Time all-reduce algorithms over ranks beside MPI's own",
    .examples =
        "  trainyard allreduce --workers 2,4 --sizes 1K..256M --algorithm all\n"
        "  trainyard allreduce --workers 4 --sizes 4M --algorithm shared,mpi --json\n"
        "  mpirun -n 8 --hostfile hosts trainyard allreduce --sizes 1M..64M\n",
    .setup = setup_allreduce,
};

}  // namespace trainyard::cli
