// What this build was made of: constants that CMake writes (cmake/ty_build_facts.cmake).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::cli {

// A library as the build found it. The version is empty where its files do not say it.
struct BuiltWith {
  std::string_view name;
  std::string_view version;
  std::string_view linked;  // shared, static or headers
};

struct BuildFacts {
  std::string_view commit;  // empty: not built from a Git checkout
  std::string_view compiler;
  std::string_view target;  // processor and system that it was built for
  std::string_view flags;
  std::string_view options;  // NAME=value, separated by spaces
  std::span<const BuiltWith> libraries;
};

const BuildFacts& build_facts();

// A shared library that this process has loaded, and the file behind its links, which tells the
// version.
struct LoadedLibrary {
  std::string name;
  std::string file;
};
std::vector<LoadedLibrary> loaded_libraries();

// Of those that kernels and libraries ask for, the ones that this processor has.
std::vector<std::string> processor_features();

}  // namespace trainyard::cli
