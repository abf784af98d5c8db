// `trainyard models`: the built-in networks, all in a table or one in full.
#include <memory>

#include "analysis/layers.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "models/model.h"

namespace trainyard::cli {
namespace {

struct Entry {
  const models::ModelDef* model;
  Graph graph;
  analysis::Figures figures;
};

// Built in full for its figures: a table of numbers that are written down could be wrong.
Entry entry_of(std::string_view name) {
  Graph graph = models::build_model(name);
  const analysis::Figures figures = analysis::analyze_layers(graph).totals;
  return {models::find_model(name), std::move(graph), figures};
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

Json to_json_models(const Entry& entry) {
  const models::ModelDef& model = *entry.model;
  Json json = Json::object({{"name", model.name}, {"summary", model.summary}});
  json["input"] = Json::array_of(models::input_shape(model).dims());
  json["classes"] = model.classes == 0 ? Json() : Json(model.classes);
  json["params"] = entry.figures.params.trainable();
  json["macs"] = entry.figures.cost.macs;
  json["options"] = Json::array_of(honored_options(model));
  json["smallest_image"] = model.smallest_image == 0 ? Json() : Json(model.smallest_image);
  json["paper"] = Json::object({{"authors", model.paper.authors},
                                {"title", model.paper.title},
                                {"where", model.paper.where}});
  return json;
}

report::Document list_all() {
  using report::Align;
  report::Table table(
      {{"model", Align::kLeft}, {"input"}, {"parameters"}, {"MACs"}, {"paper", Align::kLeft}});
  report::Document document;
  document.data = Json::object({{"models", Json::array()}});
  for (const models::ModelDef* model : models::all_models()) {
    const Entry entry = entry_of(model->name);
    table.add_row({model->name,
                   models::input_shape(*model).to_string(),
                   report::count_cell(entry.figures.params.trainable()),
                   report::si_cell(static_cast<double>(entry.figures.cost.macs)),

                   {citation(model->paper), fmt::format("{}: {}. {}", model->paper.authors,
                                                        model->paper.title, model->paper.where)}});
    document.data["models"].push_back(to_json_models(entry));
  }
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{
      "Parameters are those that training changes; MACs are multiply-accumulates for one image or "
      "one text."});
  return document;
}

report::Document show_one(const std::string& name) {
  const Entry entry = entry_of(name);
  const models::ModelDef& model = *entry.model;
  report::Table table({{"fact", report::Align::kLeft}, {"value", report::Align::kLeft}});
  table.add_row({"model", model.name});
  table.add_row({"summary", model.summary});
  table.add_row({"authors", model.paper.authors});
  table.add_row({"title", model.paper.title});
  table.add_row({"where", model.paper.where});
  table.add_row({"input", input_shape(model).to_string()});
  for (const ValueId id : entry.graph.outputs()) {
    const Value& output = entry.graph.value(id);
    table.add_row({"output " + output.name, output.type.shape.to_string()});
  }
  table.add_row({"nodes", report::count_cell(entry.graph.num_nodes())});
  table.add_row({"parameters", report::count_cell(entry.figures.params.trainable())});
  table.add_row({"MACs", report::count_cell(entry.figures.cost.macs)});
  table.add_row({"options", join(honored_options(model), ", ")});
  if (model.smallest_image != 0) {
    table.add_row({"smallest image", report::count_cell(model.smallest_image)});
  }
  report::Document document;
  document.blocks.emplace_back(std::move(table));
  document.data = to_json_models(entry);
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
