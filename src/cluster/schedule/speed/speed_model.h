// Optimus' speed model: steps per second of a job with p parameter servers and w workers (Peng et
// al., EuroSys 2018, section 3.2).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard::schedule {

enum class SpeedForm : uint8_t {
  kAsync,  // w / (t0 + t1 w/p + t2 w + t3 p)
  kSync,   // 1 / (t0 M/w + t1 + t2 w/p + t3 w + t4 p), M: the batch of all workers together
};
// "async" or "sync"; throws Error otherwise.
SpeedForm speed_form_from_name(std::string_view name);
std::string_view speed_form_name(SpeedForm form);
size_t num_coefficients(SpeedForm form);
// What each coefficient stands for, in words.
std::string_view coefficient_meaning(SpeedForm form, size_t index);

struct SpeedPoint {
  int64_t servers = 1;
  int64_t workers = 1;
  double steps_per_s = 0;
};

struct SpeedModel {
  SpeedForm form = SpeedForm::kSync;
  std::vector<double> theta;  // none negative
  double batch = 1;           // M
  // Where (servers, workers) was measured, that is the answer.
  std::map<std::pair<int64_t, int64_t>, double> measured = {};

  // By the formula alone; 0 without servers or workers.
  double fitted(int64_t servers, int64_t workers) const;
  double at(int64_t servers, int64_t workers) const;
  // Of the seconds per step at this point, the part of each coefficient.
  std::vector<double> parts(int64_t servers, int64_t workers) const;
};

// What is made small.
enum class SpeedError : uint8_t {
  kTime,      // squared seconds, as the paper says
  kRelative,  // squared shares of the time, better for most measured tables
};

// Throws Error for fewer points than coefficients, speeds that are not above 0 or pairs below 1;
// several values of one pair are averaged first.
SpeedModel fit_speed(SpeedForm form, double batch, std::span<const SpeedPoint> points,
                     SpeedError error);
// The mean of |fitted / measured - 1|.
double speed_mape(const SpeedModel& model, std::span<const SpeedPoint> points);

// The pairs up to `most_servers` and `most_workers` that would tell most about the coefficients
// next, one after another (greatest determinant of the information), given those measured.
std::vector<std::pair<int64_t, int64_t>> pairs_to_measure(SpeedForm form, double batch,
                                                          std::span<const SpeedPoint> points,
                                                          int64_t most_servers,
                                                          int64_t most_workers, size_t count);

// A table with columns servers, workers and speed (steps/s), or images_per_s, which is divided by
// the batch (a column `batch`, or else `batch`). Throws Error with file, line and field.
std::vector<SpeedPoint> speed_points_from_csv(std::string_view text, const std::string& origin,
                                              double batch);

}  // namespace trainyard::schedule
