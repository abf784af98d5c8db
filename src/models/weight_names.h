// What parameters are called by those who publish weights, and by us.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainyard::network {

// The name without what wraps a network: "state_dict.", "module." and their kin.
std::string plain_name(std::string_view name);

// What `name` may be called here, most likely first: as it is, as torchvision's older files, the
// CIFAR ResNets (akamaster, kuangliu) and the SSD networks (qfgaohao) have it.
std::vector<std::string> candidate_names(std::string_view name);

// Whether inference can do without it: counters of batches, an optimizer's state, and heads that
// only training has.
bool is_for_training_only(std::string_view name);

}  // namespace trainyard::network
