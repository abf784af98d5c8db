// Pictures, texts or tables with what they are to teach, and how they are named on the command
// line.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/pixels.h"
#include "data/table/table_schema.h"
#include "data/target.h"
#include "data/text/tokens.h"

namespace trainyard::data {

enum class Split : uint8_t { kTrain, kTest };

// "train" or "test".
std::string_view split_name(Split split);

struct DatasetInfo {
  PictureShape shape;  // of every sample
  std::vector<std::string> class_names;
  std::string source;                             // for people: format, place and split
  std::optional<TokenFacts> tokens = {};          // of texts
  std::shared_ptr<const TableSchema> table = {};  // of tables
};

// Samples are immutable; every function may be called by several threads at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  virtual int64_t size() const = 0;
  // What every sample has beside its picture.
  virtual TargetKind target_kind() const { return TargetKind::kClass; }
  // In [0, number of classes); kNoLabel unless the targets are classes.
  virtual int64_t label(int64_t /*index*/) const { return kNoLabel; }
  // Fills in the part of `target` that is of the set's kind. Throws Error if it cannot be read.
  virtual void target(int64_t index, Target& target) const { target.label = label(index); }
  // The picture, in memory of the set or in `room`, which the caller lends and may use again
  // afterwards. Throws Error if the sample cannot be read.
  virtual PixelView pixels(int64_t index, Pixels& room) const = 0;
  // Of texts: the tokens()->length ids of a row, and those that follow each; `next` is empty unless
  // the targets are tokens.
  virtual void read_tokens(int64_t index, std::span<int64_t> now, std::span<int64_t> next) const;
  // Of tables: a number for each of table()->columns.
  virtual void read_row(int64_t index, std::span<float> row) const;
  // Where sample `index` comes from.
  virtual std::string sample_name(int64_t index) const;
  // What was wrong with the targets, file and object, and what was done about it.
  virtual std::span<const std::string> problems() const { return {}; }

  const PictureShape& shape() const { return info_.shape; }
  const std::vector<std::string>& class_names() const { return info_.class_names; }
  int64_t num_classes() const { return static_cast<int64_t>(info_.class_names.size()); }
  const std::string& source() const { return info_.source; }
  // Of texts, whose samples are rows of tokens in place of pictures.
  const std::optional<TokenFacts>& tokens() const { return info_.tokens; }
  // Of tables, whose samples are rows of numbers; else null.
  const std::shared_ptr<const TableSchema>& table() const { return info_.table; }

 protected:
  explicit Dataset(DatasetInfo info) : info_(std::move(info)) {}

 private:
  DatasetInfo info_;
};

struct OpenOptions {
  // Class folders without a picture: left out and described here; null: an Error.
  std::vector<std::string>* empty_classes = nullptr;
  int64_t length = 0;  // of the rows of texts; 0: what the data set says
  // Of tables: what columns mean to a network that is there already; null: it is measured.
  std::shared_ptr<const TableSchema> table = {};
};

// Opens what `spec` names:
//   fashion-mnist[:DIR]   IDX files, by default those of Debian's package
//   mnist:DIR[,classes=N] IDX files (names as MNIST's, .gz or not)
//   cifar10:DIR, cifar100:DIR   the binary versions
//   folder:DIR            DIR/train/CLASS/*.jpg and DIR/val (or test)/CLASS/*.jpg; also .png; or
//                         DIR/CLASS/*.jpg, which has no test split
//   voc:DIR[:LIST]        boxes: Pascal VOC (XML); LIST is a file of ImageSets/Main, or TRAIN/TEST
//   coco:F.json:IMAGES    boxes: COCO
//   openimages:F.csv:IMAGES[:CLASS,CLASS]   boxes: Open Images
//   csv:F.csv:IMAGES      boxes: a line each
//   shapes[:SIDE][,size=N][,seed=N]   boxes: drawn discs, squares and triangles
//   synthetic[:CxHxW][,classes=N][,size=N][,seed=N]
//   csv:FILE,target=COLUMN[,...]   a table; see data/table/table_set.h
//   text:FILE|DIR[,...]   texts, tokenized here; see data/text/text_set.h
//   tokens:FILE[,...]     texts as token ids; see data/text/token_set.h
//   DIR                   any of the pictures above, told by the files in it
// Files are checked here, the pictures of a folder when they are read. Throws Error naming file,
// byte, what was expected and what was found.
std::unique_ptr<Dataset> open_dataset(std::string_view spec, Split split,
                                      const OpenOptions& options = {});
// Whether its samples are rows of tokens, without opening it.
bool names_tokens(std::string_view spec);
// Whether its samples are rows of a table, without opening it.
bool names_rows(std::string_view spec);
// Whether what such a table foretells is a number. Reads the file.
bool foretells_number(std::string_view spec);
// Whether the option of this name has a file.
bool names_file(std::string_view option);
// Whether it has samples to test on; false: they are to be held out from the training split.
bool has_test_split(std::string_view spec);
// Whether it is one whose targets are boxes, without opening it.
bool names_boxes(std::string_view spec);
// Whether a word of open_dataset() with neither ":" nor "/" is a folder in the working directory.
bool names_folder_here(const std::string& word);

}  // namespace trainyard::data
