// Transformers by name: catalog/transformers.csv, or a config.json of Hugging Face.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cluster/transformer/model.h"

namespace trainyard::transformer {

// Letters and digits alone, without the organization and what stands in parentheses: "LLAMA3_8B",
// "meta-llama/Llama-3-8B" and "llama-3-8b" are one name.
std::string plain_name(std::string_view name);

std::span<const Transformer> known_models();
// Null if there is none of that name.
const Transformer* find_model(std::string_view name);
// Throws Error with the nearest names.
const Transformer& model_of(std::string_view name);

// Of a config.json of Hugging Face. Throws Error for an architecture whose layers are not those of
// a plain transformer, and for a key that is missing.
Transformer model_of_config(std::string_view text, const std::string& origin);
// A name, or a file config.json, or a folder with one.
Transformer load_model(const std::string& name_or_path);

}  // namespace trainyard::transformer
