#include "cluster/schedule/time_to_accuracy.h"

#include <algorithm>

#include "base/error.h"

namespace trainyard::schedule {

TimeAnswer time_to_accuracy(const SpeedModel& speed, const TimeQuestion& question) {
  TY_REQUIRE(question.steps > 0, "the goal needs {:g} steps, expected more than 0", question.steps);
  TY_REQUIRE(!question.servers.empty() && !question.workers.empty(),
             "no numbers of servers or workers to try");
  TimeAnswer answer;
  for (const int64_t p : question.servers) {
    for (const int64_t w : question.workers) {
      TY_REQUIRE(p >= 1 && w >= 1, "{} servers and {} workers; both have to be at least 1", p, w);
      TimePoint point{.servers = p, .workers = w};
      point.measured = speed.measured.contains({p, w});
      point.seconds = question.steps / speed.at(p, w);
      const double off = point.measured ? 0 : question.speed_error;
      point.low =
          point.seconds * std::max(0.0, 1 - question.steps_error) * (1 - std::min(0.9, off));
      point.high = point.seconds * (1 + question.steps_error) * (1 + off);
      const double hours = point.seconds / 3600;
      point.cost_usd = hours * (static_cast<double>(w) * question.usd_per_worker_hour +
                                static_cast<double>(p) * question.usd_per_server_hour);
      const std::vector<double> parts = speed.parts(p, w);
      const auto most = std::max_element(parts.begin(), parts.end()) - parts.begin();
      point.limit = coefficient_meaning(speed.form, static_cast<size_t>(most));
      answer.points.push_back(std::move(point));
    }
  }
  for (size_t i = 0; i < answer.points.size(); ++i) {
    if (answer.points[i].seconds < answer.points[answer.fastest].seconds) answer.fastest = i;
    if (answer.points[i].cost_usd < answer.points[answer.cheapest].cost_usd) answer.cheapest = i;
  }
  return answer;
}

}  // namespace trainyard::schedule
