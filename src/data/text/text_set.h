// Text files as a set of rows of tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/spec.h"

namespace trainyard::data {

// text:FILE|DIR[,tokenizer=bytes|chars|FILE][,test=SHARE|FILE|DIR][,length=N][,pattern=NAME]
// Files are those of TextFiles. A folder with files of which the names begin with "train" and with
// "val" or "test" is split by them; else the last tenth of the texts is for tests. `length` is that
// of the settings, 0: what the words say, or kUsualLength. Throws Error for what is no text and for
// texts that the tokenizer cannot express.
std::unique_ptr<Dataset> open_text(const Spec& spec, Split split, int64_t length);

// The documents of a split: the last ones, of about that share of all bytes, are for tests. A
// document is cut in two only where no whole one is left for tests.
std::vector<std::string_view> split_documents(std::span<const std::string_view> documents,
                                              double test_share, Split split);

}  // namespace trainyard::data
