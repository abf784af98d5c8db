// Tokens hidden for a network to find, as BERT is trained (Devlin et al. 2019).
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace trainyard::data {

// How many of a row are hidden: 15 %, at least one, the same for every row of a length, so that
// each row counts alike.
int64_t masked_places(int64_t length);

// Chooses the places: of each ten, eight become token `vocabulary`, which stands for what is
// hidden, one a random token, and one stays. `wanted` gets the tokens that were there, kNoLabel
// elsewhere.
void mask_tokens(std::span<int64_t> tokens, std::span<int64_t> wanted, int64_t vocabulary,
                 const RandomStream& random);

}  // namespace trainyard::data
