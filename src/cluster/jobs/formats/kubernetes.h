// Pods of training jobs on Kubernetes, which MPIJob, PyTorchJob and TrainJob share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/jobs/formats/common.h"

namespace trainyard::jobs::kubernetes {

constexpr std::string_view kPlatform = "kubernetes";

std::vector<PlacePath> places_of(const Job& job);

// apiVersion, kind and metadata; `tail` characters of the name are left for what the operator adds.
std::string put_head(Draft& draft, const char* api, const char* kind, size_t tail);

// $(NAME) would be expanded in commands; it becomes $$(NAME), and back.
std::vector<std::string> escaped(const std::vector<std::string>& words);
std::vector<std::string> unescaped(const std::vector<std::string>& words);

// Variables and secrets as a list of env at `path`.
void put_variables(Draft& draft, const std::string& path);
// One container with image, variables and secrets at `path`.
void put_container(Draft& draft, const std::string& path, const char* name, const Format& format);
void put_command(Draft& draft, const std::string& container, const std::vector<std::string>& words);
// Accelerators, processors, memory and disk, as limits and requests at `path`.
void put_resources(Draft& draft, const std::string& path);
// Volumes of the pod for what lies in claims, mounted in its first container.
void put_volumes(Draft& draft, const std::string& pod, const Format& format);
// nodeSelector and serviceAccountName of a pod.
void put_placement(Draft& draft, const std::string& pod);
// What no resource of Kubernetes has, and how spot is asked for.
void put_missing(Draft& draft);
// kubectl for the resource.
void put_steps(Draft& draft, const std::string& file, const std::string& resource,
               const std::string& name);

// For importers.
void import_head(const YamlView& root, Job& job);
void import_container(const YamlView& container, Job& job);
void import_resources(const YamlView& resources, Job& job);
// Resources, volumes and placement; then the command without what the places put into it.
void import_pod(const YamlView& pod, Job& job);
YamlView pod_of(const YamlView& replica);
YamlView first_container(const YamlView& pod);

// Whether a document says that it is of this kind.
bool is_kind(const Json& root, std::string_view kind);

// For checks.
int64_t gpus_of(const YamlView& pod);
void check_pod(const YamlView& pod, Findings& findings);
void check_name(const YamlView& root, const std::string& tail, Findings& findings);

}  // namespace trainyard::jobs::kubernetes
