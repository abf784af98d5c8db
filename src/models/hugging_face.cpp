#include "models/hugging_face.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "ir/graph.h"
#include "runs/weights/weights_file.h"
#include "tensor/tensor.h"

namespace trainyard::network {
namespace {

// As config.json calls them.
inline constexpr const char* kGpt2Layout = "gpt2";

inline constexpr const char* kLlamaLayout = "llama";

constexpr std::string_view kGpt2Prefix = "transformer.";
constexpr std::string_view kLlamaPrefix = "model.";
constexpr std::string_view kHead = "lm_head.";

std::string_view prefix_of(std::string_view layout) {
  return layout == kGpt2Layout ? kGpt2Prefix : kLlamaPrefix;
}

bool is_weight(std::string_view own) {
  return own.ends_with(".weight") || own.ends_with(".bias");
}

std::string own_name(std::string_view layout, std::string_view name) {
  const std::string_view prefix = prefix_of(layout);
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return std::string(name);
}

// Empty for what is no weight there: indices, tables of sines.
std::string other_name(std::string_view layout, std::string_view own) {
  if (!is_weight(own)) return "";
  if (own.starts_with(kHead)) return std::string(own);
  return std::string(prefix_of(layout)) + std::string(own);
}

// GPT-2's layers multiply from the other side.
bool is_turned(std::string_view layout, std::string_view own) {
  constexpr std::array<std::string_view, 3> kTurned = {".c_attn.weight", ".c_proj.weight",
                                                       ".c_fc.weight"};
  return layout == kGpt2Layout &&
         std::any_of(kTurned.begin(), kTurned.end(),
                     [&](std::string_view end) { return own.ends_with(end); });
}

// Whether the network computes without this tensor: masks, angles, and a table that is stored
// twice.
bool is_left_out(std::string_view layout, std::string_view name, const Graph& graph) {
  if (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias")) return true;
  if (name.ends_with("rotary_emb.inv_freq")) return true;
  return name == "lm_head.weight" && !graph.find_value(own_name(layout, name)).valid();
}

namespace fs = std::filesystem;

constexpr const char* kConfig = "config.json";
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kTokenizer = "tokenizer.json";
constexpr const char* kFormKey = "trainyard.transformer";
constexpr int64_t kUsualLength = 256;
constexpr float kUsualEpsilon = 1e-5F;  // of ONNX where a node has none

Json read_json(const fs::path& path) {
  return Json::parse(read_file(path), path.string());
}

// Settings of config.json; errors name file and setting.
class Config {
 public:
  explicit Config(const fs::path& folder)
      : origin_((folder / kConfig).string()), json_(read_json(folder / kConfig)) {}

  const std::string& origin() const { return origin_; }
  bool has(std::string_view key) const {
    const Json* const value = json_.find(key);
    return value != nullptr && !value->is_null();
  }
  int64_t count(std::string_view key) const {
    TY_REQUIRE(has(key) && json_.at(key).is_int() && json_.at(key).as_int() > 0,
               "{}: '{}' is missing or no whole number above 0", origin_, key);
    return json_.at(key).as_int();
  }
  int64_t count_or(std::string_view key, int64_t otherwise) const {
    return has(key) ? count(key) : otherwise;
  }
  double number_or(std::string_view key, double otherwise) const {
    if (!has(key)) return otherwise;
    TY_REQUIRE(json_.at(key).is_number(), "{}: '{}' is no number", origin_, key);
    return json_.at(key).as_number();
  }
  std::string text_or(std::string_view key, const std::string& otherwise) const {
    return has(key) && json_.at(key).is_string() ? json_.at(key).as_string() : otherwise;
  }
  bool flag_or(std::string_view key, bool otherwise) const {
    return has(key) && json_.at(key).is_bool() ? json_.at(key).as_bool() : otherwise;
  }
  const Json* find(std::string_view key) const { return json_.find(key); }
  void require(bool supported, std::string_view key) const {
    TY_REQUIRE(supported, "{}: this value of '{}' is not supported", origin_, key);
  }

 private:
  std::string origin_;
  Json json_;
};

Request gpt2_request(const Config& config) {
  config.require(config.text_or("activation_function", "gelu_new") == "gelu_new" ||
                     config.text_or("activation_function", "") == "gelu_pytorch_tanh",
                 "activation_function");
  config.require(config.flag_or("scale_attn_weights", true), "scale_attn_weights");
  config.require(!config.flag_or("scale_attn_by_inverse_layer_idx", false),
                 "scale_attn_by_inverse_layer_idx");
  config.require(config.flag_or("tie_word_embeddings", true), "tie_word_embeddings");
  Request request{.model = "gpt-nano"};
  const int64_t hidden = config.count("n_embd");
  request.vocabulary = config.count("vocab_size");
  request.sizes = {.layers = config.count("n_layer"),
                   .hidden = hidden,
                   .heads = config.count("n_head"),
                   .kv_heads = config.count("n_head"),
                   .inner = config.count_or("n_inner", 4 * hidden)};
  request.form = {.positions = config.count("n_positions"),
                  .norm_epsilon = config.number_or("layer_norm_epsilon", 1e-5),
                  .dropout = config.number_or("resid_pdrop", 0.1)};
  return request;
}

// Newer configurations have the base of rotary positions in an object of its own.
double rotary_base(const Config& config) {
  constexpr double kUsual = 10000;
  if (const Json* const form = config.find("rope_parameters");
      form != nullptr && form->is_object()) {
    const Json* const kind = form->find("rope_type");
    config.require(kind == nullptr || (kind->is_string() && kind->as_string() == "default"),
                   "rope_parameters");
    const Json* const base = form->find("rope_theta");
    if (base != nullptr && base->is_number()) return base->as_number();
  }
  config.require(!config.has("rope_scaling"), "rope_scaling");
  return config.number_or("rope_theta", kUsual);
}

Request llama_request(const Config& config) {
  config.require(config.text_or("hidden_act", "silu") == "silu", "hidden_act");
  config.require(!config.flag_or("attention_bias", false), "attention_bias");
  config.require(!config.flag_or("mlp_bias", false), "mlp_bias");
  const int64_t hidden = config.count("hidden_size");
  const int64_t heads = config.count("num_attention_heads");
  config.require(config.count_or("head_dim", hidden / heads) == hidden / heads, "head_dim");
  Request request{.model = "llama"};
  request.vocabulary = config.count("vocab_size");
  request.sizes = {.layers = config.count("num_hidden_layers"),
                   .hidden = hidden,
                   .heads = heads,
                   .kv_heads = config.count_or("num_key_value_heads", heads),
                   .inner = config.count("intermediate_size")};
  request.form = {.positions = config.count_or("max_position_embeddings", 2048),
                  .rotary_base = rotary_base(config),
                  .norm_epsilon = config.number_or("rms_norm_eps", 1e-6),
                  .tied = config.flag_or("tie_word_embeddings", false)};
  return request;
}

Request request_of(const Config& config) {
  const std::string kind = config.text_or("model_type", "");
  if (kind == kGpt2Layout) return gpt2_request(config);
  TY_REQUIRE(kind == kLlamaLayout, "{}: model_type is '{}', expected {} or {}", config.origin(),
             kind, kGpt2Layout, kLlamaLayout);
  return llama_request(config);
}

// The files of weights: one, or those that an index names.
std::vector<fs::path> weight_files(const fs::path& folder) {
  if (fs::exists(folder / kWeights)) return {folder / kWeights};
  const fs::path index = folder / (std::string(kWeights) + ".index.json");
  std::set<std::string> names;
  if (fs::exists(index)) {
    const Json json = read_json(index);
    for (const auto& [tensor, file] : json.at("weight_map").members()) {
      names.insert(fs::path(file.as_string()).filename().string());
    }
  } else if (fs::exists(folder / "pytorch_model.bin")) {
    names.insert("pytorch_model.bin");
  }
  TY_REQUIRE(!names.empty(), "{}: there is neither {} nor {}.index.json nor pytorch_model.bin",
             folder.string(), kWeights, kWeights);
  std::vector<fs::path> files;
  for (const std::string& name : names) files.push_back(folder / name);
  return files;
}

Tensor turned(const Tensor& from) {
  const int64_t rows = from.shape()[0];
  const int64_t columns = from.shape()[1];
  Tensor to(DType::kF32, Shape{columns, rows});
  const std::span<const float> in = from.values<float>();
  const std::span<float> out = to.values<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      out[static_cast<size_t>(c * rows + r)] = in[static_cast<size_t>(r * columns + c)];
    }
  }
  return to;
}

// Gives a parameter the numbers of a tensor. False: nobody needs it.
bool take_tensor(Graph& graph, const std::string& layout, const std::string& name,
                 const Tensor& stored, const std::string& origin) {
  const std::string own = own_name(layout, name);
  const ValueId id = graph.find_value(own);
  if (!id.valid() || graph.value(id).kind != ValueKind::kInitializer) return false;
  Value& value = graph.mutable_value(id);
  TY_REQUIRE(is_float(stored.dtype()), "{}: tensor '{}' is {}, expected numbers", origin, name,
             stored.type().to_string());
  Tensor numbers = cast(stored, DType::kF32);
  if (is_turned(layout, own) && numbers.shape().rank() == 2) numbers = turned(numbers);
  TY_REQUIRE(numbers.shape() == value.type.shape,
             "{}: tensor '{}' has shape {}, and by {} it has {}", origin, name,
             stored.shape().to_string(), kConfig,
             is_turned(layout, own) ? Shape{value.type.shape[1], value.type.shape[0]}.to_string()
                                    : value.type.shape.to_string());
  value.constant = std::make_shared<const Tensor>(std::move(numbers));
  return true;
}

void take_all(Graph& graph, const std::string& layout, const fs::path& folder) {
  std::vector<std::string> unknown;
  for (const fs::path& file : weight_files(folder)) {
    const auto weights = runs::open_weights(file);
    for (size_t i = 0; i < weights->tensors().size(); ++i) {
      const std::string& name = weights->tensors()[i].name;
      if (is_left_out(layout, name, graph)) continue;
      if (!take_tensor(graph, layout, name, weights->tensor(i), file.string())) {
        unknown.push_back(name);
      }
    }
  }
  TY_REQUIRE(unknown.empty(), "{}: {} tensors, as '{}', have no place in the layout of {}",
             folder.string(), unknown.size(), unknown[0], layout);
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    TY_REQUIRE(value.constant != nullptr, "{}: the weights have no tensor '{}'", folder.string(),
               other_name(layout, value.name));
  }
}

// The layout of a graph, by the names of its weights; empty: another one.
std::string layout_of(const Graph& graph) {
  if (graph.find_value("h.0.attn.c_attn.weight").valid()) return kGpt2Layout;
  if (graph.find_value("layers.0.self_attn.q_proj.weight").valid()) return kLlamaLayout;
  return "";
}

int64_t count_layers(const Graph& graph, std::string_view before, std::string_view behind) {
  int64_t layers = 0;
  while (graph.find_value(fmt::format("{}{}{}", before, layers, behind)).valid()) ++layers;
  return layers;
}

const Shape& shape_of(const Graph& graph, std::string_view name) {
  const ValueId id = graph.find_value(name);
  TY_REQUIRE(id.valid(), "the network has no weight '{}'", name);
  return graph.value(id).type.shape;
}

Json gpt2_config(const Graph& graph, const Json& form) {
  const Shape& words = shape_of(graph, "wte.weight");
  const int64_t positions = shape_of(graph, "wpe.weight")[0];
  return Json::object(
      {{"architectures", Json::array_of(std::vector<std::string>{"GPT2LMHeadModel"})},
       {"model_type", kGpt2Layout},
       {"vocab_size", words[0]},
       {"n_positions", positions},
       {"n_ctx", positions},
       {"n_embd", words[1]},
       {"n_layer", count_layers(graph, "h.", ".ln_1.weight")},
       {"n_head", form.at("heads")},
       {"n_inner", shape_of(graph, "h.0.mlp.c_fc.weight")[0]},
       {"activation_function", "gelu_new"},
       {"layer_norm_epsilon", form.at("norm_epsilon")},
       {"tie_word_embeddings", true}});
}

Json llama_config(const Graph& graph, const Json& form) {
  const Shape& words = shape_of(graph, "embed_tokens.weight");
  return Json::object(
      {{"architectures", Json::array_of(std::vector<std::string>{"LlamaForCausalLM"})},
       {"model_type", kLlamaLayout},
       {"vocab_size", words[0]},
       {"hidden_size", words[1]},
       {"intermediate_size", shape_of(graph, "layers.0.mlp.gate_proj.weight")[0]},
       {"num_hidden_layers", count_layers(graph, "layers.", ".input_layernorm.weight")},
       {"num_attention_heads", form.at("heads")},
       {"num_key_value_heads", form.at("kv_heads")},
       {"max_position_embeddings", form.at("positions")},
       {"rope_theta", form.at("rotary_base")},
       {"rms_norm_eps", form.at("norm_epsilon")},
       {"hidden_act", "silu"},
       {"attention_bias", false},
       {"mlp_bias", false},
       {"tie_word_embeddings", !graph.find_value("lm_head.weight").valid()}});
}

void write_weights(const Graph& graph, const std::string& layout, uint64_t seed,
                   const fs::path& path) {
  std::vector<runs::NamedType> types;
  std::vector<Tensor> tensors;
  for (const ValueId id : graph.initializers()) {
    const Value& value = graph.value(id);
    const std::string name = other_name(layout, value.name);
    if (name.empty()) continue;
    Tensor numbers(value.type.dtype, value.type.shape);
    if (value.constant != nullptr) {
      numbers = value.constant->clone();
    } else {
      fill_by_rule(value.rule, seed, value.name, numbers);
    }
    tensors.push_back(is_turned(layout, value.name) ? turned(numbers) : std::move(numbers));
    types.push_back({name, tensors.back().type()});
  }
  runs::SafetensorsWriter writer(path, std::move(types), {{"format", "pt"}});
  for (const Tensor& tensor : tensors) writer.write(tensor);
  writer.commit();
}

// The base of the angles in the table of sines: that of the second pair in the second row.
double base_of_table(const Graph& graph) {
  const ValueId id = graph.find_value("rotary.sin");
  if (!id.valid() || graph.value(id).constant == nullptr) return 0;
  const Tensor& sines = *graph.value(id).constant;
  const int64_t pairs = sines.shape()[1];
  if (sines.shape()[0] < 2 || pairs < 2) return 0;
  const double angle =
      std::asin(static_cast<double>(sines.values<float>()[static_cast<size_t>(pairs + 1)]));
  return std::round(std::pow(1 / angle, static_cast<double>(pairs)));
}

}  // namespace

bool is_hugging_face(const std::string& path) {
  return fs::is_directory(path) && fs::exists(fs::path(path) / kConfig) &&
         !fs::exists(fs::path(path) / "model.onnx");
}

Graph load_hugging_face(const Request& request) {
  const fs::path folder = request.model;
  TY_REQUIRE(!request.classes && !request.image && !request.width && !request.vocabulary &&
                 request.sizes == models::TransformerSizes{} && request.shapes.empty() &&
                 !request.auxiliary,
             "classes, image, width, sizes, shape and auxiliary are not for {}, whose {} says what "
             "the network is; it takes batch and length",
             request.model, kConfig);
  const Config config(folder);
  Request own = request_of(config);
  own.batch = request.batch;
  own.length = request.length.value_or(std::min(kUsualLength, own.form.positions));
  Graph graph = load(own);
  take_all(graph, config.text_or("model_type", ""), folder);
  return graph;
}

onnx_io::Metadata hugging_face_metadata(const std::string& path) {
  const fs::path folder = path;
  const Config config(folder);
  onnx_io::Metadata metadata;
  if (fs::exists(folder / kTokenizer)) metadata[onnx_io::kTokenizerKey] = kTokenizer;
  const Json* const end = config.find("eos_token_id");
  if (end != nullptr && end->is_int() && end->as_int() >= 0) {
    metadata[onnx_io::kEndOfTextKey] = fmt::format("{}", end->as_int());
  }
  return metadata;
}

void note_form(const Graph& graph, const onnx_io::Metadata& known, onnx_io::Metadata& metadata) {
  if (layout_of(graph).empty()) return;
  if (const auto found = known.find(kFormKey); found != known.end()) metadata.insert(*found);
  Json form = Json::object();
  for (const NodeId id : graph.node_ids()) {
    const Node& node = graph.node(id);
    // Attention of rank 4 has its heads in the shape.
    if (node.op == "Attention" && node.attributes.contains("q_num_heads") &&
        form.find("heads") == nullptr) {
      form["heads"] = std::get<int64_t>(node.attributes.at("q_num_heads"));
      form["kv_heads"] = std::get<int64_t>(node.attributes.at("kv_num_heads"));
      form["positions"] = graph.value(node.inputs[0]).type.shape[1];
    }
    const bool norm = node.op == "LayerNormalization" || node.op == "RMSNormalization";
    if (norm && form.find("norm_epsilon") == nullptr) {
      // As people write it: the nearest number of few digits.
      const auto given = node.attributes.find("epsilon");
      const float epsilon =
          given == node.attributes.end() ? kUsualEpsilon : std::get<float>(given->second);
      form["norm_epsilon"] = std::stod(fmt::format("{:.6g}", static_cast<double>(epsilon)));
    }
  }
  if (form.find("heads") == nullptr || form.find("norm_epsilon") == nullptr) return;
  form["rotary_base"] = base_of_table(graph);
  metadata[kFormKey] = form.dump(-1);
}

void write_hugging_face(const Graph& graph, const onnx_io::Metadata& metadata,
                        const HuggingFaceFiles& files, const fs::path& folder) {
  const std::string layout = layout_of(graph);
  TY_REQUIRE(!layout.empty(), "{} has neither the layout of {} nor that of {}", graph.name(),
             kGpt2Layout, kLlamaLayout);
  onnx_io::Metadata known = metadata;
  note_form(graph, metadata, known);
  const auto note = known.find(kFormKey);
  TY_REQUIRE(note != known.end(),
             "the file does not say how many heads the network has; train it again, or give the "
             "name of a built-in network with `weights`");
  const Json form = Json::parse(note->second, kFormKey);
  Json config = layout == kGpt2Layout ? gpt2_config(graph, form) : llama_config(graph, form);
  config["torch_dtype"] = "float32";
  // Without one, the library would take GPT-2's own.
  const auto end = known.find(onnx_io::kEndOfTextKey);
  const Json token = end == known.end() ? Json() : Json::parse(end->second, "end of text");
  config["bos_token_id"] = token;
  config["eos_token_id"] = token;
  fs::create_directories(folder);
  write_weights(graph, layout, files.seed, folder / kWeights);
  if (!files.tokenizer.empty()) write_file(folder / kTokenizer, files.tokenizer);
  // Last: a folder with it is complete.
  write_file(folder / kConfig, config.dump() + "\n");
}

}  // namespace trainyard::network
