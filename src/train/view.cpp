#include "train/view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/printable.h"

namespace trainyard::cli {
namespace {

using train::Score;

// As people write it.
std::string label_of(std::string name) {
  if (name == "top1") return "top-1";
  if (name == "top5") return "top-5";
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

// "accuracy 91.20 %", "absolute error 0.1234"
std::string text_of(const Score& score) {
  return score.is_share ? fmt::format("{} {:.2f} %", label_of(score.name), 100 * score.value)
                        : fmt::format("{} {:.4f}", label_of(score.name), score.value);
}

report::Cell cell_of(const Score& score) {
  return score.is_share ? report::percent_cell(score.value) : report::fixed_cell(score.value, 4);
}

// The loss of the test is named so; other scores of the test have names of their own.
std::string data_name(const Score& score) {
  return score.name == "loss" ? "test_loss" : score.name;
}

// Texts are counted in tokens.
double speed_of(const train::EpochReport& r) {
  return r.images_per_s * static_cast<double>(std::max<int64_t>(r.tokens, 1));
}
const char* speed_unit(const train::EpochReport& r) {
  return r.tokens > 0 ? "tokens/s" : "images/s";
}

std::vector<report::Column> columns_of(const train::EpochReport& epoch) {
  std::vector<report::Column> columns = {{"epoch"}, {"train loss"}};
  for (const Score& score : epoch.train_scores) {
    columns.push_back({score.name == "accuracy" ? "train acc." : "train " + label_of(score.name)});
  }
  for (const Score& score : epoch.test.scores) {
    columns.push_back({score.name == "loss" ? "test loss" : label_of(score.name)});
  }
  for (const char* name : {speed_unit(epoch), "epoch time", "data wait", "since start"}) {
    columns.push_back({name});
  }
  return columns;
}

void add_epoch(const train::EpochReport& r, report::Table& table, Json& rows) {
  std::vector<report::Cell> cells = {report::count_cell(r.epoch),
                                     report::fixed_cell(r.train_loss, 4)};
  Json row = Json::object({{"epoch", r.epoch}, {"train_loss", r.train_loss}});
  for (const Score& score : r.train_scores) {
    cells.push_back(cell_of(score));
    row["train_" + score.name] = score.value;
  }
  for (const Score& score : r.test.scores) {
    cells.push_back(cell_of(score));
    row[data_name(score)] = score.value;
  }
  if (!r.worker_scores.empty()) {
    row["worker_" + r.test.decides] = Json::array_of(r.worker_scores);
  }
  if (!r.sample.empty()) row["sample"] = printable(r.sample);
  cells.push_back(report::fixed_cell(speed_of(r), 0));
  cells.push_back(report::seconds_cell(r.train_seconds));
  cells.push_back(report::percent_cell(r.wait_seconds / r.train_seconds));
  cells.push_back(report::seconds_cell(r.seconds));
  table.add_row(std::move(cells));
  row["images_per_s"] = r.images_per_s;
  if (r.tokens > 0) row["tokens_per_s"] = speed_of(r);
  row["train_s"] = r.train_seconds;
  row["wait_s"] = r.wait_seconds;
  row["exposed_s"] = r.exposed_seconds;
  row["seconds"] = r.seconds;
  rows.push_back(std::move(row));
}

}  // namespace

std::string epoch_line(const train::EpochReport& r) {
  std::string text = fmt::format("epoch {:>3}: loss {:.4f}", r.epoch, r.train_loss);
  for (const Score& score : r.train_scores) text += ", " + text_of(score);
  std::string separator = "; test ";
  for (const Score& score : r.test.scores) {
    text += separator + text_of(score);
    separator = ", ";
  }
  if (!r.worker_scores.empty()) {
    const auto [least, most] = std::minmax_element(r.worker_scores.begin(), r.worker_scores.end());
    text += fmt::format(" (workers {:.4f} to {:.4f})", *least, *most);
  }
  text += fmt::format("; {:.0f} {}, {:.1f} % waiting for data", speed_of(r), speed_unit(r),
                      100 * r.wait_seconds / r.train_seconds);
  if (r.exposed_seconds > 0) {
    text += fmt::format(", {:.1f} % for workers", 100 * r.exposed_seconds / r.train_seconds);
  }
  if (r.best) text += " *";
  return r.sample.empty() ? text : text + "\n  " + printable_line(r.sample);
}

report::Document train_document(const train::TrainResult& result, const std::string& directory) {
  report::Document document;
  Json rows = Json::array();
  report::Table table(columns_of(result.epochs.empty() ? train::EpochReport{} : result.epochs[0]));
  for (const train::EpochReport& epoch : result.epochs) add_epoch(epoch, table, rows);
  document.blocks.emplace_back(std::move(table));
  document.data["epochs"] = std::move(rows);
  document.data["steps"] = result.steps;
  if (result.best) document.data["best_" + result.best->name] = result.best->value;
  if (result.best_epoch > 0) document.data["best_epoch"] = result.best_epoch;
  document.data["exported"] = result.exports_best ? "best" : "last";
  document.data["stopped_early"] = result.out_of_patience;
  document.data["interrupted"] = result.interrupted;
  if (result.seconds_to_target) document.data["seconds_to_target"] = *result.seconds_to_target;
  document.data["directory"] = directory;
  return document;
}

std::string weights_sentence(const train::TrainResult& result) {
  if (!result.best) return "";
  const std::string best = text_of(*result.best);
  const std::string stopped = result.out_of_patience
                                  ? fmt::format("Stopped early: no better {} since epoch {}. ",
                                                label_of(result.best->name), result.best_epoch)
                                  : "";
  if (result.exports_best) {
    return fmt::format("{}model.onnx has the best weights: {}, of epoch {}. ", stopped, best,
                       result.best_epoch);
  }
  if (result.epochs.empty()) {
    return fmt::format("{}Best {}; model.onnx has the last weights. ", stopped, best);
  }
  const train::EpochReport& last = result.epochs.back();
  if (last.best) {
    return fmt::format("Best {}, in the last epoch, whose weights model.onnx has. ", best);
  }
  const Score* score = train::find_score(last.test.scores, last.test.decides);
  return fmt::format(
      "{}model.onnx has the last weights: {}. The best, {} of epoch {}, are in "
      "checkpoints/best.safetensors; the setting export chooses. ",
      stopped, text_of(*score), best, result.best_epoch);
}

}  // namespace trainyard::cli
