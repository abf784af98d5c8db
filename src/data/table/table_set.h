// Tables as data sets: rows of numbers and categories, with a class or a number to foretell.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "data/spec.h"
#include "data/table/table_schema.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// csv:FILE,target=COLUMN[,test=SHARE|FILE][,seed=N][,task=classes|number][,categories=A+B]
// [,ignore=A+B][,header=yes|no][,normalize=yes|no]. Without test=FILE a share of the rows (0.2), of
// every class alike, is the test split, chosen by the seed. `known` is what the columns mean to a
// network that is there already; null: it is measured.
std::unique_ptr<Dataset> open_table(const Spec& spec, Split split,
                                    std::shared_ptr<const TableSchema> known);

// Whether the words name a table, and not a file of boxes.
bool names_table(const Spec& spec);
// Whether what is to be foretold is a number. Reads the file.
bool foretells_number(const Spec& spec);

// Rows as a network takes them, f32[rows, columns]. Columns are found by their names, in any order
// and among others; without names they are those of the schema in its order. Throws Error for a
// column that is not there.
Tensor read_rows(const std::filesystem::path& file, const TableSchema& schema);
// Of text that was sent; `origin` names it in errors.
Tensor parse_rows(std::string text, std::string origin, const TableSchema& schema);
// .csv and .tsv, which may be compressed.
bool is_table_file(std::string_view file);

}  // namespace trainyard::data
