// tfrecord stats: prints statistics of the features' values.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/toolkit/describe/survey.h"
#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "recordpipe/toolkit/feature_statistics.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/schema_text.h"
#include "tools/tfrecord/view/statistics_page.h"

namespace recordpipe {
namespace {

struct StatsArguments {
  InputArguments inputs = {};
  std::string output = "-";
  std::vector<std::string> features = {};
  FilterArguments filter = {};
  size_t threads = 0;
  bool skip_corrupt = false;
  TableArguments table = {};
  bool html = false;
  DisplayArguments display = {};
};

// The inputs for the page, whose map has the sizes of local files.
std::vector<SurveyedFile> files_of(const CommandContext& context,
                                   const std::vector<std::string>& paths,
                                   const RecordReadOptions& reading,
                                   const std::map<std::string, FileDamage>& damage) {
  std::vector<SurveyedFile> files;
  const FileWork work = work_of(context);
  for (const std::string& path : paths) {
    const InputStatus status = input_status(work, path);
    SurveyedFile file = {.name =
                             is_standard_input(path) ? "standard input" : without_secrets(path)};
    if (status.is_local_regular) file.bytes = status.size;
    if (const auto found = damage.find(path); found != damage.end()) {
      file.damage = &found->second;
      file.is_compressed = !status.is_local_regular ||
                           detect_compression(context.files, path, reading) != Compression::none;
    }
    files.push_back(std::move(file));
  }
  return files;
}

ExitCode print_stats(const CommandContext& context, const StatsArguments& arguments) {
  const TableFormat format = table_format(arguments.table);
  if (arguments.html && (arguments.table.json || !arguments.table.format.empty())) {
    throw UsageError("--html is a format of its own: leave out --json and --format");
  }
  SurveyOptions options = {.input = input_reading(arguments.inputs.reading, arguments.skip_corrupt),
                           .filter = filter_of(arguments.filter),
                           .threads = arguments.threads};
  const auto paths = arguments.inputs.files.paths(context);
  InputProgress progress(context, "count", paths);
  SkippedDamage skipped(context, "stats");
  std::map<std::string, FileDamage> damage;
  options.input.damaged = skipped.sink();
  if (arguments.html) {
    options.input.damaged = [&, report = skipped.sink()](const std::string& path,
                                                         const DamagedRegion& region) {
      report(path, region);
      damage[path].add(region);
    };
  }
  const FeatureStatistics all = compute_statistics(
      work_of(context, progress, "stats"), paths,
      {arguments.features.begin(), arguments.features.end()}, std::move(options));
  context.progress.clear();
  skipped.sum_up();
  const Display display(context, arguments.display, arguments.output);
  Output output(context, arguments.output);
  if (arguments.html) {
    write_statistics_page(output, all, files_of(context, paths, arguments.inputs.reading, damage));
  } else if (format == TableFormat::csv) {
    stats_table(all).write_csv(output);
  } else {
    output.write(format == TableFormat::json ? statistics_as_json(all) : stats_as_text(all));
  }
  output.close();
  return ExitCode::ok;
}

constexpr char kStatsDescription[] =
    R"(For each feature, over all files together: the number of values, minimum, maximum, mean and standard
deviation (population formula; both without infinities), quantiles, the number of different values,
the most frequent values, and a histogram of 16 equally wide bins (as text, if there are only up to
16 different whole numbers, a bar for each). For bytes: the same of their lengths, and the most
frequent values of at most 32 bytes. NaNs are counted, and excluded from everything else; histograms
contain only finite values. Feature lists are combined over all steps.

Memory is bounded. Quantiles and histograms are exact up to 4,096 different values of a feature;
beyond, the relative error of quantiles is at most 0.4 %. Frequent values are exact up to 1,024
different values; beyond, the values that came first are counted, and others may be as frequent. If
dozens of features have many thousand different values each, each feature gets less memory: the
output then states the relative error of its quantiles (at most 25 %, for up to 250 such features)
and how many values are counted. Only the first 200 features are included (fewer if their names
exceed 4 MiB); choose others with --feature. The output does not depend on the number of threads.

The same of the records' sizes comes first, without the 16 bytes of framing.

--json prints one object: {"records", "record_sizes", "with_features", "features": {NAME: {"kind", "records", "share",
"values", "int64", "float" or "bytes": {"count", "min", "max", "mean", "sd", "quantiles": {"0.5": ...},
"quantiles_are_exact", "quantiles_are_within" (0.004 for 0.4 %, unless exact), "histogram": {"min", "max", "counts"}, "distinct", "distinct_is_exact",
"most_frequent": [{"value", "count"}]}}}, "feature_lists"}. For bytes, all from "min" to "histogram"
is in "lengths"; "record_sizes" has them of the records' sizes. Infinities are Infinity and -Infinity, as Python's json module writes them.

--format csv prints a row for each feature and kind of its values, with the columns feature, kind,
count, nans, min, max, mean, sd, p1, p5, p25, p50, p75, p95, p99 and distinct. For bytes, min to p99
are those of the lengths; distinct is empty unless all different values were counted.

--html writes a page, a single file without scripts, for a browser: a histogram or bars for each
feature, the sizes of the files, and, with --skip-corrupt, a map of where they are damaged (of a
compressed file, that it is damaged).

Damage is an error, and nothing is printed; with --skip-corrupt, the statistics are those of the
intact records, and --json has "regions_skipped" and "bytes_skipped".)";

constexpr char kStatsExamples[] =
    R"(  tfrecord stats train.tfrecords
  tfrecord stats 'train-*' --feature label --json
  tfrecord stats 'train-*' --skip-corrupt --html -o stats.html)";

}  // namespace

Command stats_command() {
  return {.name = "stats",
          .summary = "Says what values features have: ranges, quantiles, counts",
          .description = kStatsDescription,
          .examples = kStatsExamples,
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<StatsArguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output, [arguments, format = format_of(arguments->table)] {
              return arguments->html ? "html" : format();
            });
            add_features(app, arguments->features, "Only these features");
            add_filter(app, arguments->filter);
            add_threads(app, arguments->threads);
            add_skip_corrupt(app, arguments->skip_corrupt);
            add_table_format(app, arguments->table, "Print one JSON object");
            app.add_flag("--html", arguments->html,
                         "Write an HTML page: distributions, file sizes, a map of damage");
            add_pager(app, arguments->display);
            return [arguments](const CommandContext& context) {
              return with_pager([&] { return print_stats(context, *arguments); });
            };
          }};
}

}  // namespace recordpipe
