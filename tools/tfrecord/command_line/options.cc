#include "tools/tfrecord/command_line/options.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "dataset/base/lower_case.h"
#include "dataset/base/parse_number.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/utf8.h"
#include "recordpipe/toolkit/csv_examples.h"

namespace recordpipe {
namespace {

std::optional<PixelShape> parse(std::string_view text) {
  std::array<size_t, 3> sides = {0, 0, 1};
  size_t count = 0;
  while (true) {
    if (count == sides.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sides[count]);
    if (error != std::errc() || sides[count] < 1 || sides[count] > kLongestSide)
      return std::nullopt;
    ++count;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.empty()) break;
    if (text.front() != 'x') return std::nullopt;
    text.remove_prefix(1);
  }
  if (count < 2 || sides[2] > kMaxChannels) return std::nullopt;
  return PixelShape{sides[0], sides[1], sides[2]};
}

}  // namespace

Option::Check number_between(double least, double most) {
  return [least, most](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool is_number = !text.empty() && end == text.c_str() + text.size();
    return is_number && value >= least && value <= most
               ? std::string()
               : fmt::format("{} is not in [{}, {}]", text, least, most);
  };
}

Option::Check whole_number(uint64_t least, uint64_t most) {
  return [least, most](const std::string& text) {
    const auto value = parse_number<uint64_t>(text);
    if (value && *value >= least && *value <= most) return std::string();
    return most == UINT64_MAX
               ? fmt::format("{} is not a whole number of at least {}", text, least)
               : fmt::format("{} is not a whole number from {} to {}", text, least, most);
  };
}

Option::Transform byte_size() {
  return [](std::string& text) {
    const std::string given = text;
    // (A negative number would wrap around to a large one.)
    const bool is_size =
        !given.starts_with('-') && size_to_bytes(text, /*kb_is_1000=*/true).empty() && text != "0";
    return is_size ? std::string()
                   : fmt::format("{} is not a size, for example 4096, 100MB or 1GiB", given);
  };
}

void add_where(ArgumentParser& app, std::string& expression) {
  app.add_option("--where", expression,
                 "Select records by an expression: \"label == 3 and len(box) > 0\"")
      // An unset shell variable would select all records.
      .check([](const std::string& text) { return text.empty() ? "an empty expression" : ""; })
      .type_name("EXPR");
}

std::string where_description() {
  return R"(comparisons (== != < <= > >=, in [...], not in [...]) of features with numbers and
strings, and, or, not, parentheses, len(NAME) and has(NAME). A comparison holds if some value of the
feature satisfies it; a feature that is missing satisfies none. So x not in [1, 2] holds for a value
other than 1 and 2, and not x in [1, 2] if there is no 1 and no 2, also without x. Names that aren't
made of letters, digits, _ / . : and - stand in backticks.

A feature that is compared, but that no record has, is an error, unless the expression has a has() of
it; so are comparisons with values of another type, if nothing is selected. If a limit ended the
reading, it is a note: records that were not read may have the feature. Records of no known kind have
no features; a note counts them.

Functions of strings: startswith(NAME, "a"), endswith(NAME, "a"), contains(NAME, "a"), and
matches(NAME, r"^a.*z$") for a regular expression, which matches anywhere unless ^ and $ anchor it. *
in place of NAME is every feature: contains(*, "cat"). Regular expressions are those of RE2: . [a-z]
[^a-z] \d \w \s \b a|b (a) * + ? {2,5} (?i) (?s) and more, in UTF-8 (one that has \xNN from \x80 on
is of bytes), without look-around and back-references; they take linear time. In r"..." a backslash is
a backslash; other strings have the escapes \\ \' \" \n \t \xNN.

Of the record itself: record.size (bytes of its data), record.number (in its file, from 0) and
record.path (as it was given; - for standard input). A feature with such a name stands in backticks.)";
}

std::optional<Where> where_of(const std::string& expression) {
  if (expression.empty()) return std::nullopt;
  return Where(expression, "--where");
}

void add_limit(ArgumentParser& app, std::optional<uint64_t>& limit) {
  app.add_option("--limit", limit, "Use at most the first N selected records")
      .check(whole_number())
      .type_name("N");
}

void add_kind(ArgumentParser& app, std::optional<MessageKind>& kind) {
  static const std::map<std::string, MessageKind, std::less<>> kNames(kMessageKindNames.begin(),
                                                                      kMessageKindNames.end());
  std::vector<std::string> choices;
  for (const auto& [name, type] : kMessageKindNames) choices.emplace_back(name);
  app.add_option_function(
         "--kind", [&kind](const std::string& name) { kind = kNames.at(name); },
         "Read every record as this type of message, as protobuf's parser does (default: the type "
         "whose fields explain every byte); elwc is ExampleListWithContext, unknown has no "
         "features. The parser skips unknown fields, and of two values for a feature takes the "
         "last: an edit or an export of a record that would lose any refuses")
      .one_of(choices);
}

void add_filter(ArgumentParser& app, FilterArguments& arguments) {
  add_kind(app, arguments.kind);
  add_where(app, arguments.where);
  add_limit(app, arguments.limit);
}

RecordFilter filter_of(const FilterArguments& arguments) {
  return RecordFilter(where_of(arguments.where), arguments.limit, arguments.kind);
}

void add_table_format(ArgumentParser& app, TableArguments& arguments, const std::string& json) {
  app.add_option("--format", arguments.format, "Output format (default: table)")
      .one_of({"table", "json", "csv"});
  app.add_flag("--json", arguments.json, json);
}

TableFormat table_format(const TableArguments& arguments) {
  const std::string& format = arguments.format;
  if (arguments.json && !format.empty() && format != "json") {
    throw UsageError("--json and --format " + format + " contradict each other");
  }
  if (arguments.json || format == "json") return TableFormat::json;
  return format == "csv" ? TableFormat::csv : TableFormat::table;
}

std::function<std::string_view()> format_of(const TableArguments& arguments) {
  return [&arguments]() -> std::string_view {
    if (arguments.json || arguments.format == "json") return "json";
    return arguments.format == "csv" ? "csv" : "text";
  };
}

void add_features(ArgumentParser& app, std::vector<std::string>& names,
                  const std::string& description) {
  app.add_option("--feature,--select", names, description + "; may be repeated")
      .comma_separated()
      .type_name("NAME,...");
}

void add_rename(ArgumentParser& app, std::vector<std::string>& renames) {
  app.add_option("--rename", renames, "Rename features").comma_separated().type_name("OLD=NEW,...");
}

namespace {

// `form`: of a value: "OLD=NEW". The second name is that of a feature.
NamePairs pairs_of(std::string_view option, std::string_view form,
                   const std::vector<std::string>& given) {
  NamePairs names;
  for (const std::string& pair : given) {
    const std::string shown = printable(shown_word(pair));
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      throw UsageError(fmt::format("{} {}: should be {}", option, shown, form));
    }
    const std::string name = pair.substr(equals + 1);
    if (!is_utf8(name)) {
      throw UsageError(
          fmt::format("{} {}: the new name is not UTF-8, and no protobuf would parse the records",
                      option, shown));
    }
    if (!names.emplace(pair.substr(0, equals), name).second) {
      throw UsageError(fmt::format("{} gives {} two names", option,
                                   printable(shown_word(pair.substr(0, equals)))));
    }
  }
  return names;
}

}  // namespace

NamePairs renames_of(const std::vector<std::string>& renames) {
  return pairs_of("--rename", "OLD=NEW", renames);
}

void add_members(ArgumentParser& app, std::vector<std::string>& members) {
  app.add_option(
         "--members", members,
         "webdataset: features of members, by their extension: jpg=image/encoded,cls=label; "
         "the value of cls is an int64")
      .comma_separated()
      .type_name("EXT=FEATURE,...");
}

NamePairs members_of(const std::vector<std::string>& members) {
  NamePairs names = pairs_of("--members", "EXT=FEATURE", members);
  std::set<std::string_view> features;
  for (const auto& [extension, feature] : names) {
    const bool is_one = !extension.empty() && !feature.empty() &&
                        extension.find('/') == extension.npos && extension == lower_case(extension);
    if (!is_one) {
      throw UsageError(
          fmt::format("--members {}={}: an extension in lower case, and the name of a feature",
                      printable(extension), printable(feature)));
    }
    if (!features.insert(feature).second) {
      throw UsageError("--members gives two extensions to " + printable(feature));
    }
  }
  return names;
}

PixelShape parse_pixel_shape(std::string_view text) {
  if (const auto shape = parse(text)) return *shape;
  throw UsageError("--shape: " + printable(shown_word(text)) +
                   " is not HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS (for example, 32x32x3)");
}

void add_pixel_options(ArgumentParser& app, PixelArguments& arguments) {
  app.add_option("--shape", arguments.shape,
                 "The shape of raw pixels, for example 32x32x3 or 28x28; see above")
      .type_name("HxW[xC]");
  app.add_option("--layout", arguments.layout,
                 "The layout of raw pixels: planar (chw) or interleaved (hwc); see above")
      .one_of({"chw", "hwc"});
}

PixelOptions pixel_options(const PixelArguments& arguments) {
  PixelOptions options = {.shape_called = "--shape"};
  if (!arguments.shape.empty()) options.shape = parse_pixel_shape(arguments.shape);
  if (arguments.layout == "chw") options.layout = PixelLayout::planar;
  if (arguments.layout == "hwc") options.layout = PixelLayout::interleaved;
  return options;
}

void add_delimiter(ArgumentParser& app, std::string& delimiter) {
  app.add_option("--delimiter", delimiter,
                 "csv: the character between cells, \"\\t\" for a tab (default: a comma; .tsv: a "
                 "tab)")
      .transform([](std::string& text) {
        if (text == "\\t" || text == "tab") text = "\t";
        return text.size() == 1 && is_csv_delimiter(text.front())
                   ? std::string()
                   : fmt::format("{} can't separate cells: give one character such as ; or \"\\t\"",
                                 printable(text));
      })
      .type_name("CHARACTER");
}

char delimiter_of(const std::string& delimiter, const std::string& format) {
  if (delimiter.empty()) return format == "tsv" ? '\t' : ',';
  if (format != "csv" && format != "tsv") throw UsageError("--delimiter is for CSV, not " + format);
  return delimiter.front();
}

void add_compression(ArgumentParser& app, std::optional<Compression>& compression) {
  app.add_option_function(
         "--compression",
         [&compression](const std::string& name) { compression = compression_named(name); },
         "Compression (default: from the file name: .gz, .zlib, .zst)")
      .one_of({"none", "gzip", "zlib", "zstd"});
}

void add_threads(ArgumentParser& app, size_t& threads) {
  app.add_option("--threads", threads, "Number of threads (default 0: one per core)")
      .check(whole_number(0, 1024))
      .type_name("N");
}

}  // namespace recordpipe
