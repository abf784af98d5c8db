// `trainyard data inspect SPEC` and `trainyard data show SPEC`: what a data set holds, and what
// augmentation makes of it. `trainyard data get NAME`: public sets.
#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "data/augment.h"
#include "data/dataset.h"
#include "data/image_grid.h"
#include "data/statistics.h"
#include "program/box_inspection.h"
#include "program/command.h"
#include "program/get_public.h"
#include "program/table_inspection.h"

namespace trainyard::cli {
namespace {

constexpr int64_t kDefaultPictures = 8;
constexpr int64_t kMostPictures = 1000;

struct DataFlags {
  std::string action;
  std::string spec;
  std::string split = "train";
  std::string sheet;
  std::string pictures;
  std::string augment;
  std::string output;
  std::optional<int64_t> per_class;
  std::optional<int64_t> samples;
  std::optional<int64_t> draws;
  std::optional<int64_t> seed;
  std::optional<int64_t> copies;
  bool before = false;
  GetFlags get{.kind = "data"};
  std::string classes;
  report::Format format = report::Format::kText;
};

int64_t pictures(const std::optional<int64_t>& asked, std::string_view flag) {
  const int64_t count = asked.value_or(kDefaultPictures);
  TY_REQUIRE(1 <= count && count <= kMostPictures, "{} is {}, expected 1 to {}", flag, count,
             kMostPictures);
  return count;
}

std::unique_ptr<data::Dataset> open(const DataFlags& flags) {
  return data::open_dataset(flags.spec,
                            flags.split == "train" ? data::Split::kTrain : data::Split::kTest);
}

// The first samples of each class, or those with an object of it, as files: a picture once, however
// many classes it has. Returns the files.
std::vector<std::string> write_class_pictures(const DataFlags& flags, const data::Dataset& set) {
  const auto wanted = flags.per_class ? pictures(flags.per_class, "--per-class") : 1;
  std::filesystem::create_directories(flags.pictures);
  std::vector<int64_t> written(static_cast<size_t>(set.num_classes()));
  std::vector<std::string> files;
  data::Target target;
  data::Pixels room;
  for (int64_t i = 0; i < set.size(); ++i) {
    set.target(i, target);
    std::vector<int64_t> labels;
    for (const data::Box& box : target.boxes) labels.push_back(box.label);
    if (set.target_kind() == data::TargetKind::kClass) labels.push_back(target.label);
    // A picture is written for the first class that still needs one, so none is written twice.
    const auto needed = std::find_if(labels.begin(), labels.end(), [&](int64_t label) {
      return written[static_cast<size_t>(label)] < wanted;
    });
    if (needed == labels.end()) continue;
    std::string png;
    try {
      png = data::encode_png(data::to_image(set.pixels(i, room)));
    } catch (const Error&) {
      continue;  // it is among the samples that inspect() lists as unreadable
    }
    const int64_t number = ++written[static_cast<size_t>(*needed)];
    files.push_back(
        (std::filesystem::path(flags.pictures) / fmt::format("class{}-{}.png", *needed, number))
            .string());
    write_file(files.back(), png);
  }
  return files;
}

// A row per class with evenly spaced samples of it; what cannot be read is left white.
void write_class_sheet(const DataFlags& flags, const data::Dataset& set,
                       const data::Statistics& statistics) {
  const int64_t columns = pictures(flags.per_class, "--per-class");
  data::ImageGrid sheet(set.num_classes(), columns, set.shape());
  std::vector<int64_t> met(static_cast<size_t>(set.num_classes()));
  std::vector<int64_t> placed(static_cast<size_t>(set.num_classes()));
  data::Pixels room;
  for (int64_t i = 0; i < set.size(); ++i) {
    const auto label = static_cast<size_t>(set.label(i));
    // Evenly over the samples of a class: sets are often sorted, and the first ones alike.
    const int64_t shown = std::min(columns, statistics.class_counts[label]);
    if (placed[label] == shown ||
        met[label]++ != placed[label] * statistics.class_counts[label] / shown) {
      continue;
    }
    const int64_t column = placed[label]++;
    try {
      sheet.place(set.label(i), column, set.pixels(i, room));
    } catch (const Error&) {
      continue;  // it is among statistics.unreadable
    }
  }
  write_file(flags.sheet, data::encode_png(sheet.image()));
}

report::Table class_table(const data::Dataset& set, const data::Statistics& statistics) {
  report::Table table({{"class"}, {"name", report::Align::kLeft, 40}, {"samples"}, {"share"}});
  for (size_t i = 0; i < statistics.class_counts.size(); ++i) {
    const int64_t count = statistics.class_counts[i];
    table.add_row(
        {fmt::format("{}", i), set.class_names()[i], report::count_cell(count),
         report::percent_cell(static_cast<double>(count) / static_cast<double>(set.size()))});
  }
  return table;
}

report::Table channel_table(const data::Statistics& statistics) {
  report::Table table({{"channel"}, {"mean"}, {"std"}, {"mean / 255"}, {"std / 255"}});
  for (size_t c = 0; c < statistics.mean.size(); ++c) {
    table.add_row({fmt::format("{}", c), report::fixed_cell(statistics.mean[c], 3),
                   report::fixed_cell(statistics.std[c], 3),
                   report::fixed_cell(statistics.mean[c] / 255, 4),
                   report::fixed_cell(statistics.std[c] / 255, 4)});
  }
  return table;
}

std::string sizes_text(const data::Dataset& set, const data::Statistics& statistics) {
  if (set.shape().is_fixed()) return "of " + set.shape().to_string();
  return fmt::format("of {} channels, {} to {} high and {} to {} wide", set.shape().channels,
                     statistics.min_height, statistics.max_height, statistics.min_width,
                     statistics.max_width);
}

Json inspect_json(const data::Dataset& set, const data::Statistics& statistics) {
  Json classes = Json::array();
  for (size_t i = 0; i < statistics.class_counts.size(); ++i) {
    classes.push_back(
        Json::object({{"name", set.class_names()[i]}, {"samples", statistics.class_counts[i]}}));
  }
  return Json::object(
      {{"source", set.source()},
       {"samples", set.size()},
       {"channels", set.shape().channels},
       {"height",
        Json::array_of(std::vector<int64_t>{statistics.min_height, statistics.max_height})},
       {"width", Json::array_of(std::vector<int64_t>{statistics.min_width, statistics.max_width})},
       {"mean", Json::array_of(statistics.mean)},
       {"std", Json::array_of(statistics.std)},
       {"classes", std::move(classes)},
       {"unreadable", Json::array_of(statistics.unreadable)}});
}

// A set of texts has rows of tokens in place of pictures.
report::Document token_set_document(const data::Dataset& set) {
  const data::TokenFacts& facts = *set.tokens();
  report::Document document;
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "{}: {} rows of {} tokens, vocabulary {}{}{}", set.source(), with_commas(set.size()),
      facts.length, with_commas(facts.vocabulary),
      facts.end_of_text == data::kNoToken ? ""
                                          : fmt::format(", a text ends with {}", facts.end_of_text),
      facts.bytes_per_token == 0
          ? ""
          : fmt::format(", {} bytes per token", fixed_text(facts.bytes_per_token, 2)))});
  document.data = Json::object({{"source", set.source()},
                                {"samples", set.size()},
                                {"length", facts.length},
                                {"vocabulary", facts.vocabulary},
                                {"bytes_per_token", facts.bytes_per_token}});
  if (facts.end_of_text != data::kNoToken) document.data["end_of_text"] = facts.end_of_text;
  return document;
}

// Opens and reads every sample, which also finds those that cannot be read.
int inspect(const DataFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.per_class || !flags.sheet.empty() || !flags.pictures.empty(),
             "--per-class needs --sheet F.png or --pictures DIR");
  const auto set = open(flags);
  if (set->tokens()) {
    TY_REQUIRE(flags.sheet.empty() && flags.pictures.empty(),
               "--sheet and --pictures are for pictures; {} is text", set->source());
    out << report::render(token_set_document(*set), flags.format);
    return 0;
  }
  if (set->table()) {
    TY_REQUIRE(flags.sheet.empty() && flags.pictures.empty(),
               "--sheet and --pictures are for pictures; {} is a table", set->source());
    out << report::render(table_set_document(*set), flags.format);
    return 0;
  }
  const data::Statistics statistics = data::measure_statistics(*set);
  report::Document document;
  document.data = inspect_json(*set, statistics);
  const auto say = [&](std::string text) {
    document.blocks.emplace_back(report::Paragraph{std::move(text)});
  };
  say(fmt::format("{}: {} samples {} in {} classes", set->source(), with_commas(set->size()),
                  sizes_text(*set, statistics), set->num_classes()));
  if (set->target_kind() == data::TargetKind::kBoxes) {
    TY_REQUIRE(flags.sheet.empty(),
               "--sheet needs a class for each picture; `data show` draws boxes");
    add_box_report(*set, document);
  } else {
    document.blocks.emplace_back(class_table(*set, statistics));
  }
  document.blocks.emplace_back(channel_table(statistics));
  if (!statistics.unreadable.empty()) {
    say(fmt::format("{} samples cannot be read:\n  {}",
                    with_commas(static_cast<int64_t>(statistics.unreadable.size())),
                    join(statistics.unreadable, "\n  ")));
  }
  if (!flags.sheet.empty()) {
    write_class_sheet(flags, *set, statistics);
    document.data["sheet"] = flags.sheet;
    say(fmt::format("wrote {}: a row per class, in the order above", flags.sheet));
  }
  if (!flags.pictures.empty()) {
    const std::vector<std::string> files = write_class_pictures(flags, *set);
    document.data["pictures"] = Json::array_of(files);
    say(fmt::format("wrote {} {} to {}", files.size(), files.size() == 1 ? "picture" : "pictures",
                    flags.pictures));
  }
  out << report::render(document, flags.format);
  return 0;
}

// What the network sees, as bytes: normalized values from -2 to 2 fill the range.
data::PixelView visible(const data::Augmentations& steps, const data::Dataset& set,
                        const data::Draw& draw, data::Workspace& workspace, data::Pixels& room) {
  if (!steps.normalization()) return steps.bytes(set, draw, workspace);
  constexpr float kHalfRange = 2;
  std::vector<float> floats(static_cast<size_t>(steps.output().elements()));
  steps.floats(set, draw, workspace, floats.data());
  room.reshape(steps.output());
  for (size_t i = 0; i < floats.size(); ++i) {
    const float share = (floats[i] + kHalfRange) / (2 * kHalfRange);
    room.bytes[i] = static_cast<uint8_t>(std::clamp(255 * share + 0.5F, 0.0F, 255.0F));
  }
  return room.view();
}

std::string or_none(const std::string& text) {
  return text.empty() ? "none" : text;
}

// Pictures of a sheet have one size: without steps, those of any size are stretched to one.
std::string steps_to_show(const DataFlags& flags, const data::Dataset& set) {
  constexpr const char* kOneSize = "resize:300x300";
  return flags.augment.empty() && !set.shape().is_fixed() ? kOneSize : flags.augment;
}

// The pictures of a row before what is random is done to them, and then its draws or copies.
void place_row(const DataFlags& flags, const data::Dataset& set, const data::Augmentations& steps,
               const data::Augmentations& judged, int64_t row, int64_t sample, int64_t columns,
               data::ImageGrid& sheet) {
  data::Workspace workspace;
  data::Pixels room;
  data::Pixels drawn;
  const int64_t first = flags.before ? 1 : 0;
  for (int64_t column = -first; column < columns; ++column) {
    // Columns are epochs, or copies within one: what changes from draw to draw in training.
    const data::Draw draw{.seed = static_cast<uint64_t>(flags.seed.value_or(1)),
                          .epoch = flags.copies ? 0 : column,
                          .sample = sample,
                          .copy = flags.copies ? column : 0};
    const data::PixelView shown =
        visible(column < 0 ? judged : steps, set,
                column < 0 ? data::Draw{.seed = 1, .epoch = 0, .sample = sample, .copy = 0} : draw,
                workspace, room);
    if (set.target_kind() == data::TargetKind::kBoxes) {
      sheet.place(row, column + first, with_boxes(shown, workspace.target.boxes, set, drawn));
    } else {
      sheet.place(row, column + first, shown);
    }
  }
}

int show(const DataFlags& flags, std::ostream& out) {
  TY_REQUIRE(!flags.output.empty(), "say where the picture goes, as --output F.png");
  const auto set = open(flags);
  const data::Augmentations steps(steps_to_show(flags, *set), *set);
  const int64_t rows = std::min(set->size(), pictures(flags.samples, "--samples"));
  TY_REQUIRE(!flags.draws || !flags.copies,
             "--draws are of one epoch after the other, --batch-augment of one batch; give one");
  const int64_t columns =
      flags.copies ? pictures(flags.copies, "--batch-augment") : pictures(flags.draws, "--draws");
  const data::Augmentations judged(steps.evaluation_text(), *set);
  data::ImageGrid sheet(rows, columns + (flags.before ? 1 : 0), steps.output());
  for (int64_t row = 0; row < rows; ++row) {
    place_row(flags, *set, steps, judged, row, row * set->size() / rows, columns, sheet);
  }
  const std::string png = data::encode_png(sheet.image());
  write_file(flags.output, png);
  report::Document document;
  document.blocks.emplace_back(report::Paragraph{fmt::format(
      "{}\naugmentation: {}\nevaluation:   {}\nwrote {}: {} samples in rows, {} {} "
      "of each, {}",
      set->source(), or_none(steps.text()), or_none(steps.evaluation_text()), flags.output, rows,
      columns, flags.copies ? "copies" : "draws", steps.output().to_string())});
  document.data = Json::object({{"source", set->source()},
                                {"augment", steps.text()},
                                {"evaluation", steps.evaluation_text()},
                                {"shape", steps.output().to_string()},
                                {"samples", rows},
                                {"draws", columns},
                                {"output", flags.output}});
  // Pictures are part of a page; texts and tables have no room for them.
  if (flags.format.kind == report::Format::kHtml || flags.format.kind == report::Format::kBundle) {
    document.blocks.emplace_back(report::Picture{png, flags.output});
  }
  out << report::render(document, flags.format);
  return 0;
}

int get(const DataFlags& flags, std::ostream& out) {
  GetFlags wanted = flags.get;
  wanted.name = flags.spec;
  for (const std::string& name : split(flags.classes, ',')) {
    if (!name.empty()) wanted.classes.push_back(name);
  }
  return get_public(wanted, flags.format, out);
}

int data_command(const DataFlags& flags, std::ostream& out) {
  if (flags.action == "get") return get(flags, out);
  const std::vector<std::string> actions = {"inspect", "show", "get"};
  TY_REQUIRE(
      flags.action == "inspect" || flags.action == "show",
      "expected `data inspect SPEC`, `data show SPEC` or `data get NAME`, found `data {}`.{}",
      flags.action, did_you_mean(flags.action, actions));
  TY_REQUIRE(!flags.spec.empty(), "say which data: `data {} SPEC`", flags.action);
  return flags.action == "inspect" ? inspect(flags, out) : show(flags, out);
}

Runner setup_data(Args& args) {
  auto flags = std::make_shared<DataFlags>();
  args.positional(
      "ACTION", flags->action,
      "inspect: classes, counts, sizes, mean and deviation, unreadable files; show: "
      "samples as augmentation makes them; get: bring a public set (no NAME: list them)");
  args.optional_positional(
      "SPEC", flags->spec,
      "get: a name of its list; else fashion-mnist, mnist:DIR, cifar10:DIR, cifar100:DIR, "
      "folder:DIR, voc:DIR[:LIST], "
      "coco:F.json:IMAGES, openimages:F.csv:IMAGES[:CLASSES], csv:F.csv:IMAGES, shapes:SIDE, "
      "csv:FILE,target=COLUMN, synthetic:CxHxW,classes=N,size=N, text:FILE|DIR, tokens:FILE, or "
      "DIR");
  args.choice("--split", flags->split, {"train", "test"}, "which split to use");
  args.option("--sheet", flags->sheet, "inspect: write a PNG with samples of each class");
  args.option("--pictures", flags->pictures,
              "inspect: write example pictures of each class into this folder");
  args.option("--per-class", flags->per_class,
              "inspect: samples of each class on it (8) or in the folder (1)");
  args.option("--augment", flags->augment,
              "show: steps such as crop:4,flip,cutout:16x1,normalize (docs/data.md)");
  args.option("-o,--output", flags->output, "show: PNG file to write");
  args.option("--samples", flags->samples, "show: rows, one sample each (8)");
  args.option("--draws", flags->draws, "show: columns, one draw of the random choices each (8)");
  args.option("--batch-augment", flags->copies,
              "show: columns, the copies of a sample that one batch of train --batch-augment has");
  args.option("--seed", flags->seed, "show: random seed (default: 1)");
  args.flag("--before", flags->before, "show: a first column without what is random");
  declare_get(args, flags->get);
  args.option("--classes", flags->classes, "get open-images: these classes, separated by commas");
  args.option("--most", flags->get.most,
              "get open-images: pictures of each class and split; 0: all");
  std::vector<std::string> own = get_flag_names();
  own.insert(own.end(), {"classes", "most"});
  args.own_flags(
      [flags] { return flags->action; },
      {{{"get"}, own},
       {{"inspect"}, {"sheet", "pictures", "per-class"}},
       {{"inspect", "show"}, {"split"}},
       {{"show"}, {"augment", "output", "samples", "draws", "batch-augment", "before", "seed"}}});
  args.format(flags->format);
  return [flags](std::ostream& out) { return data_command(*flags, out); };
}

}  // namespace

extern const Command kData = {
    .name = "data",
    .group = "Train",
    .summary = "What a data set holds, what augmentation makes of it; public sets brought here",
    .examples =
        "  trainyard data inspect fashion-mnist --sheet classes.png\n"
        "  trainyard data inspect cifar10:cifar-10-batches-bin --split test --json\n"
        "  trainyard data show fashion-mnist --augment crop:4,flip,cutout:8x1 -o shown.png\n"
        "  trainyard data show cifar10:DIR --augment crop:4,flip,cutout:16 --batch-augment 8 -o "
        "copies.png\n"
        "  trainyard data inspect voc:VOC2007\n"
        "  trainyard data inspect csv:houses.csv,target=price\n"
        "  trainyard data get cifar10 --to data\n"
        "  trainyard data get open-images --classes Handgun,Shotgun --most 500\n"
        "  trainyard data show voc:VOC2007 --augment ssd -o boxes.png\n"
        "  trainyard data show pictures --augment resized_crop:64,jitter:0.4/0.4/0.4 -o "
        "shown.png\n",
    .setup = setup_data,
};

}  // namespace trainyard::cli
