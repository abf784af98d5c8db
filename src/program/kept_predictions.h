// What predictions of one process have in common: a page asks many, and each with other numbers.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "cluster/predict/catalog.h"
#include "cluster/predict/networks.h"
#include "program/model_argument.h"

namespace trainyard::cli {

// The catalog with these files and the user's own; read again when one of them has changed. From
// any thread.
std::shared_ptr<const predict::Catalog> kept_catalog(std::span<const std::string> files);

// What a prediction needs of MODEL. A built-in network without further flags is built once. From
// any thread.
std::shared_ptr<const predict::Network> kept_network(const ModelArgument& model);

}  // namespace trainyard::cli
