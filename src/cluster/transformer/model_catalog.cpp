#include "cluster/transformer/model_catalog.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <vector>

#include "base/csv.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/predict/embedded.h"

namespace trainyard::transformer {
namespace {

int64_t integer_or_0(const CsvRow& row, std::string_view column) {
  return row.text(column).empty() ? 0 : row.integer(column);
}

// "gated rms tied": what a model has, one word each.
void set_trait(Transformer& model, const std::string& word, const CsvRow& row) {
  static const std::map<std::string, bool Transformer::*, std::less<>> kTraits = {
      {"gated", &Transformer::gated},       {"rms", &Transformer::rms_norm},
      {"tied", &Transformer::tied},         {"bias", &Transformer::bias},
      {"qkv_bias", &Transformer::qkv_bias}, {"qk_norm", &Transformer::qk_norm},
      {"pooler", &Transformer::pooler}};
  if (word == "encoder") {
    model.causal = false;
    return;
  }
  const auto found = kTraits.find(word);
  if (found == kTraits.end()) row.fail("traits", "unknown trait '" + word + "'");
  model.*(found->second) = true;
}

Transformer read_row(const CsvRow& row) {
  Transformer model;
  model.name = row.text("name");
  model.layers = row.integer("layers");
  model.hidden = row.integer("hidden");
  model.heads = row.integer("heads");
  model.kv_heads = integer_or_0(row, "kv_heads");
  model.head_size = integer_or_0(row, "head_size");
  model.ffn = integer_or_0(row, "ffn");
  model.vocab = row.integer("vocab");
  model.sequence = row.integer("sequence");
  model.experts = integer_or_0(row, "experts");
  model.top_k = integer_or_0(row, "top_k");
  model.expert_ffn = integer_or_0(row, "expert_ffn");
  model.dense_layers = integer_or_0(row, "dense_layers");
  model.shared_ffn = integer_or_0(row, "shared_ffn");
  model.latent = {.query_rank = integer_or_0(row, "query_rank"),
                  .kv_rank = integer_or_0(row, "kv_rank"),
                  .rope_size = integer_or_0(row, "rope_size"),
                  .value_size = integer_or_0(row, "value_size")};
  model.positions = integer_or_0(row, "positions");
  model.token_types = integer_or_0(row, "token_types");
  for (const std::string& word : split(row.text("traits"), ' ')) {
    if (!word.empty()) set_trait(model, word, row);
  }
  model.source = row.text("source");
  complete(model);
  return model;
}

struct Models {
  std::vector<Transformer> all;
  std::map<std::string, size_t, std::less<>> by_name;  // plain names
};

Models read_models() {
  constexpr std::string_view kFile = "transformers.csv";
  const CsvTable table = CsvTable::parse(embedded_text(predict::embedded_files(), kFile),
                                         "catalog/" + std::string(kFile));
  Models models;
  for (size_t i = 0; i < table.size(); ++i) {
    models.all.push_back(read_row(table.row(i)));
    models.by_name.emplace(plain_name(models.all.back().name), i);
    for (const std::string& alias : split(table.row(i).text("aliases"), ' ')) {
      if (!alias.empty()) models.by_name.emplace(plain_name(alias), i);
    }
  }
  return models;
}

const Models& models() {
  static const Models all = read_models();
  return all;
}

}  // namespace

std::string plain_name(std::string_view name) {
  name = name.substr(0, name.find('('));
  const size_t slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string plain;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) plain += static_cast<char>(std::tolower(byte));
  }
  return plain;
}

std::span<const Transformer> known_models() {
  return models().all;
}

const Transformer* find_model(std::string_view name) {
  std::string plain = plain_name(name);
  // What was made of a network without changing its sizes.
  constexpr std::array<std::string_view, 8> kEndings = {"fp8",  "nvfp4",    "bf16", "static",
                                                        "base", "instruct", "chat", "thinking"};
  while (true) {
    const auto found = models().by_name.find(plain);
    if (found != models().by_name.end()) return &models().all[found->second];
    const auto ending = std::ranges::find_if(
        kEndings, [&plain](std::string_view word) { return plain.ends_with(word); });
    if (ending == kEndings.end()) return nullptr;
    plain.resize(plain.size() - ending->size());
  }
}

const Transformer& model_of(std::string_view name) {
  if (const Transformer* model = find_model(name)) return *model;
  std::vector<std::string> names;
  for (const Transformer& model : known_models()) names.push_back(model.name);
  throw_error(
      "'{}' is no transformer of the catalog.{} Give a name of it, a config.json, or sizes "
      "(layers, hidden, heads, vocab)",
      name, did_you_mean(name, names));
}

Transformer load_model(const std::string& name_or_path) {
  namespace fs = std::filesystem;
  fs::path path = name_or_path;
  if (fs::is_directory(path)) path /= "config.json";
  if (path.extension() == ".json" || fs::exists(path)) {
    return model_of_config(read_file(path.string()), path.string());
  }
  return model_of(name_or_path);
}

}  // namespace trainyard::transformer
