// `trainyard models`: the built-in networks, all in a table or one in full.
#include <memory>

#include "analysis/layers.h"
#include "base/error.h"
#include "base/text.h"
#include "models/zoo/model.h"
#include "program/command.h"
#include "report/fields.h"

namespace trainyard::cli {
namespace {

struct Entry {
  const models::ModelDef* model;
  analysis::Figures figures;
};

// Built in full for its figures: a table of numbers that are written down could be wrong.
Entry entry_of(std::string_view name, const Graph& graph) {
  return {models::find_model(name), analysis::analyze_layers(graph).totals};
}

// "He et al., CVPR 2016".
std::string citation(const models::Paper& paper) {
  const std::vector<std::string> authors = split(paper.authors, ',');
  std::string text = authors[0];
  if (authors.size() == 2) text += " and" + authors[1];
  if (authors.size() > 2) text += " et al.";
  return text + ", " + std::string(paper.where.substr(0, paper.where.find(", arXiv")));
}

// Which flags of a network have an effect on this one.
std::vector<std::string> honored_options(const models::ModelDef& model) {
  std::vector<std::string> options;
  if (model.classes != 0) options.emplace_back("classes");
  if (model.smallest_image != 0) options.emplace_back("image");
  if (model.length != 0) options.emplace_back("length");
  if (model.has_width) options.emplace_back("width");
  if (model.has_auxiliary) options.emplace_back("auxiliary");
  return options;
}

report::Fields<Entry> model_fields() {
  using report::Align;
  const auto fact = [](auto member) {
    return [member](const Entry& entry) { return (*entry.model).*member; };
  };
  const auto shape = [](const Entry& entry) { return models::input_shape(*entry.model); };
  // 0 of the table is null for programs.
  const auto positive = [](auto member) {
    return [member](const Entry& entry) {
      const int64_t number = (*entry.model).*member;
      return number == 0 ? std::nullopt : std::optional(number);
    };
  };
  const auto paper = [](const Entry& entry) {
    const models::Paper& p = entry.model->paper;
    return Json::object({{"authors", p.authors}, {"title", p.title}, {"where", p.where}});
  };
  const auto cited = [](const Entry& entry) {
    const models::Paper& p = entry.model->paper;
    return report::Cell(citation(p), fmt::format("{}: {}. {}", p.authors, p.title, p.where));
  };
  const auto macs = [](const Entry& entry) { return entry.figures.cost.macs; };
  return {
      {"name", {"model", Align::kLeft}, fact(&models::ModelDef::name)},
      {"summary", fact(&models::ModelDef::summary)},
      {"input",
       {"input"},
       [shape](const Entry& entry) { return Json::array_of(shape(entry).dims()); },
       [shape](const Entry& entry) { return report::Cell(shape(entry).to_string()); }},
      {"classes", positive(&models::ModelDef::classes)},
      {"params",
       {"parameters"},
       [](const Entry& entry) { return entry.figures.params.trainable(); }},
      {"macs",
       {"MACs"},
       macs,
       [](int64_t number) { return report::si_cell(static_cast<double>(number)); }},
      {"options", [](const Entry& entry) { return Json::array_of(honored_options(*entry.model)); }},
      {"smallest_image", positive(&models::ModelDef::smallest_image)},
      {"paper", {"paper", Align::kLeft}, paper, cited}};
}

report::Document list_all() {
  std::vector<Entry> entries;
  for (const models::ModelDef* model : models::all_models()) {
    entries.push_back(entry_of(model->name, models::build_model(model->name)));
  }
  report::Document document;
  document.data = Json::object({{"models", objects_of(model_fields(), entries)}});
  document.blocks.emplace_back(table_of(model_fields(), entries));
  document.blocks.emplace_back(report::Paragraph{
      "Parameters are those that training changes; MACs are multiply-accumulates for one image or "
      "one text."});
  return document;
}

report::Document show_one(const std::string& name) {
  const Graph graph = models::build_model(name);
  const Entry entry = entry_of(name, graph);
  const models::ModelDef& model = *entry.model;
  report::Table table({{"fact", report::Align::kLeft}, {"value", report::Align::kLeft}});
  table.add_row({"model", model.name});
  table.add_row({"summary", model.summary});
  table.add_row({"authors", model.paper.authors});
  table.add_row({"title", model.paper.title});
  table.add_row({"where", model.paper.where});
  table.add_row({"input", input_shape(model).to_string()});
  for (const ValueId id : graph.outputs()) {
    const Value& output = graph.value(id);
    table.add_row({"output " + output.name, output.type.shape.to_string()});
  }
  table.add_row({"nodes", report::count_cell(graph.num_nodes())});
  table.add_row({"parameters", report::count_cell(entry.figures.params.trainable())});
  table.add_row({"MACs", report::count_cell(entry.figures.cost.macs)});
  table.add_row({"options", join(honored_options(model), ", ")});
  if (model.smallest_image != 0) {
    table.add_row({"smallest image", report::count_cell(model.smallest_image)});
  }
  report::Document document;
  document.blocks.emplace_back(std::move(table));
  document.data = object_of(model_fields(), entry);
  return document;
}

Runner setup_models(Args& args) {
  struct Flags {
    std::string model;
    report::Format format = report::Format::kText;
  };
  auto flags = std::make_shared<Flags>();
  args.optional_positional("MODEL", flags->model, "show this model alone, in full");
  args.format(flags->format);
  return [flags](std::ostream& out) {
    out << report::render(flags->model.empty() ? list_all() : show_one(flags->model),
                          flags->format);
    return 0;
  };
}

}  // namespace

extern const Command kModels = {
    .name = "models",
    .group = "Analyze",
    .summary = "List the built-in networks: input, parameters, MACs, paper",
    .examples =
        "  trainyard models\n"
        "  trainyard models mobilenet_v2\n"
        "  trainyard models --format csv > zoo.csv\n",
    .setup = setup_models,
};

}  // namespace trainyard::cli
