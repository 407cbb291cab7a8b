// tfrecord stats: prints statistics of the features' values.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataset/toolkit/describe/survey.h"
#include "recordpipe/base/error.h"
#include "recordpipe/toolkit/feature_statistics.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/display.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/skipped_damage.h"
#include "tools/tfrecord/text/schema_text.h"

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
  DisplayArguments display = {};
};

ExitCode print_stats(const CommandContext& context, const StatsArguments& arguments) {
  const TableFormat format = table_format(arguments.table);
  SurveyOptions options = {.input = input_reading(arguments.inputs.reading, arguments.skip_corrupt),
                           .filter = filter_of(arguments.filter),
                           .threads = arguments.threads};
  const auto paths = arguments.inputs.files.paths(context);
  InputProgress progress(context, "count", paths);
  SkippedDamage skipped(context, "stats");
  options.input.damaged = skipped.sink();
  const FeatureStatistics all = compute_statistics(
      work_of(context, progress, "stats"), paths,
      {arguments.features.begin(), arguments.features.end()}, std::move(options));
  context.progress.clear();
  skipped.sum_up();
  const Display display(context, arguments.display, arguments.output);
  Output output(context, arguments.output);
  if (format == TableFormat::csv) {
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

Damage is an error, and nothing is printed; with --skip-corrupt, the statistics are those of the
intact records, and --json has "regions_skipped" and "bytes_skipped".)";

constexpr char kStatsExamples[] =
    R"(  tfrecord stats train.tfrecords
  tfrecord stats 'train-*' --feature label --json)";

}  // namespace

Command stats_command() {
  return {.name = "stats",
          .summary = "Says what values features have: ranges, quantiles, counts",
          .description = kStatsDescription,
          .examples = kStatsExamples,
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<StatsArguments>();
            add_inputs(app, arguments->inputs);
            add_output(app, arguments->output, format_of(arguments->table));
            add_features(app, arguments->features, "Only these features");
            add_filter(app, arguments->filter);
            add_threads(app, arguments->threads);
            add_skip_corrupt(app, arguments->skip_corrupt);
            add_table_format(app, arguments->table, "Print one JSON object");
            add_pager(app, arguments->display);
            return [arguments](const CommandContext& context) {
              return with_pager([&] { return print_stats(context, *arguments); });
            };
          }};
}

}  // namespace recordpipe
