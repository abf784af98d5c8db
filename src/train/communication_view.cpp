#include <fmt/core.h>

#include "base/text.h"
#include "train/view.h"

namespace trainyard::cli {

report::Document communication_document(const std::vector<train::CommunicationItem>& items,
                                        const std::vector<train::MissingExchange>& omissions) {
  constexpr const char* kWhen[] = {"start", "step", "epoch"};  // in the order of When
  report::Document document;
  report::Table table({{"when", report::Align::kLeft},
                       {"what", report::Align::kLeft, 60},
                       {"how", report::Align::kLeft},
                       {"bytes"},
                       {"sent by a worker"}});
  document.data = Json::object({{"messages", Json::array()}, {"only_gradients", Json::array()}});
  int64_t per_step = 0;
  for (const train::CommunicationItem& item : items) {
    const char* when = kWhen[static_cast<size_t>(item.when)];
    table.add_row({when, item.what, item.how, report::bytes_cell(item.bytes),
                   report::bytes_cell(item.sent_bytes)});
    document.data["messages"].push_back(Json::object({{"when", when},
                                                      {"what", item.what},
                                                      {"how", item.how},
                                                      {"bytes", item.bytes},
                                                      {"sent_bytes", item.sent_bytes}}));
    if (item.when == train::CommunicationItem::ExchangeTime::kStep) per_step += item.sent_bytes;
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "Each step a worker sends {}, if sums go around a ring; workers of one host sum in memory "
      "that they share and send nothing. Before the start all compare settings and networks.",
      bytes_text(static_cast<double>(per_step)))});
  document.blocks.emplace_back(report::Heading{"If only gradients were sent"});
  for (const train::MissingExchange& omission : omissions) {
    document.blocks.emplace_back(
        report::Paragraph{fmt::format("{}: {}", omission.left_out, omission.effect)});
    document.data["only_gradients"].push_back(
        Json::object({{"left_out", omission.left_out}, {"effect", omission.effect}}));
  }
  return document;
}

}  // namespace trainyard::cli
