// tfrecord bench: measures the read speed of a file and its bottleneck.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/file_rates.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct BenchArguments {
  InputArguments inputs = {};
  std::string output = {};
  double seconds = 5;
  bool json = false;
};

// One of the sequential steps that process the content.
struct Step {
  std::string_view name;  // also in JSON's "limit"
  double rate;            // content bytes per second
};

// Returns the number of content bytes per byte of the file.
double expansion(const FileRates& rates) {
  return static_cast<double>(rates.content_bytes) / static_cast<double>(rates.file_bytes);
}

std::vector<Step> steps(const FileRates& rates, double storage) {
  std::vector<Step> all = {{"storage", storage * expansion(rates)}};
  if (rates.inflation) all.push_back({"inflation", *rates.inflation});
  all.push_back({"framing", rates.framing});
  all.push_back({"crc", rates.crc});
  all.push_back({"decoding", rates.decoding});
  return all;
}

double share(const Step& step, const std::vector<Step>& all) {
  double sum = 0;
  for (const Step& each : all) sum += 1 / each.rate;
  return 1 / step.rate / sum;
}

const Step& slowest(const std::vector<Step>& all) {
  return *std::ranges::min_element(all, {}, &Step::rate);
}

std::string_view in_words(std::string_view step) {
  if (step == "storage") return "storage: read()";
  if (step == "framing") return "finding and copying records";
  if (step == "crc") return "CRC";
  return step;
}

std::string megabytes(double rate) { return grouped(static_cast<uint64_t>(rate / 1e6)); }

std::string text_of(const FileRates& rates) {
  std::string text = fmt::format("{}: {}{}, compression {}, {} records\n", printable(rates.path),
                                 rates.whole ? "" : "the first ", byte_count(rates.file_bytes),
                                 to_string(rates.compression), grouped(rates.records));
  if (rates.records == 0) return text + "  nothing to measure\n";
  const double record_bytes =
      static_cast<double>(rates.content_bytes) / static_cast<double>(rates.records);
  const std::vector<Step> warm = steps(rates, rates.warm_storage);
  TextTable table({Align::left, Align::right, Align::right, Align::right});
  const auto add = [&](const std::string& name, double rate, const std::string& part) {
    table.add({name, megabytes(rate), grouped(static_cast<uint64_t>(rate / record_bytes)), part});
  };
  table.add({"one thread, warm cache", "MB/s", "records/s", "of the time"});
  add("reading", rates.reading, "");
  add("reading and decoding", rates.reading_and_decoding, "");
  for (const Step& step : warm) {
    add(fmt::format("  {}", in_words(step.name)), step.rate,
        fmt::format("{:.0f} %", 100 * share(step, warm)));
  }
  add("copying memory, for comparison", rates.copying, "");
  if (rates.cold_storage) {
    add("storage, cache dropped", *rates.cold_storage * expansion(rates), "");
  }
  text += table.text("  ");
  const Step& limit = slowest(warm);
  text += fmt::format("  limit, warm cache: {} ({:.0f} % of the time)\n", in_words(limit.name),
                      100 * share(limit, warm));
  if (rates.cold_storage) {
    const std::vector<Step> cold = steps(rates, *rates.cold_storage);
    const Step& cold_limit = slowest(cold);
    text += fmt::format("  limit, cold cache: {} ({:.0f} % of the time)\n",
                        in_words(cold_limit.name), 100 * share(cold_limit, cold));
  }
  return text;
}

nlohmann::ordered_json json_of(const FileRates& rates) {
  nlohmann::ordered_json json = {{"path", rates.path},
                                 {"bytes", rates.file_bytes},
                                 {"content_bytes", rates.content_bytes},
                                 {"records", rates.records},
                                 {"whole", rates.whole},
                                 {"compression", to_string(rates.compression)}};
  if (rates.records == 0) return json;
  json["bytes_per_second"] = {{"reading", rates.reading},
                              {"reading_and_decoding", rates.reading_and_decoding}};
  nlohmann::ordered_json& each = json["steps_bytes_per_second"];
  const std::vector<Step> warm = steps(rates, rates.warm_storage);
  for (const Step& step : warm) each[std::string(step.name)] = step.rate;
  json["copying_bytes_per_second"] = rates.copying;
  json["limit"] = slowest(warm).name;
  if (rates.cold_storage) {
    json["cold_storage_bytes_per_second"] = *rates.cold_storage * expansion(rates);
    json["cold_limit"] = slowest(steps(rates, *rates.cold_storage)).name;
  }
  return json;
}

ExitCode bench(const BenchArguments& arguments, const CommandContext& context) {
  const std::vector<std::string> paths = arguments.inputs.files.paths(context);
  require_readable_twice(context.files, paths, "a file");
  Output out(context, arguments.output);
  const ExitCode status = for_each_input(context, "bench", paths, [&](const std::string& path) {
    try {
      const FileRates rates =
          measure_file(context.files, path,
                       {.time = std::chrono::duration<double>(arguments.seconds),
                        .reading = arguments.inputs.reading,
                        .stop = context.stop});
      out.write(arguments.json ? json_line(json_of(rates)) : text_of(rates));
    } catch (const Error& error) {
      if (arguments.json) out.write(error_line(path, recordpipe::text_of(error)));
      throw;
    }
    out.flush();
    return ExitCode::ok;
  });
  out.close();
  return status;
}

constexpr char kBenchDescription[] =
    R"(Reads the first 256 MiB repeatedly, and times each step separately, on bytes in memory: storage,
decompression ("inflation"), finding the records, CRCs, decoding all features of each Example. The
slowest step is the bottleneck (the "limit" of the output). All times are for one thread; MB are
10^6 bytes of uncompressed content.

"Warm" data comes from the page cache. "Cold" data is read after the kernel was asked to drop the
file from the page cache; the kernel may keep pages that other processes use, and disks have caches
of their own. For a URL, storage is the network, and there is no cold measurement.)";

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = "Measures read speed and names the bottleneck",
          .description = kBenchDescription,
          .examples = R"(  tfrecord bench train.tfrecords
  tfrecord bench --json --seconds 20 train.tfrecords.gz | jq .limit
)",
          .define = [](CommandApp& app) -> CommandAction {
            const auto arguments = std::make_shared<BenchArguments>();
            add_inputs(app, arguments->inputs);
            app.add_option("--seconds", arguments->seconds, "Approximate time per file, in seconds")
                .check(number_between(0.01, 3600))
                .type_name("S")
                .show_default();
            app.add_flag("--json", arguments->json, "Print one JSON object per file");
            add_output(app, arguments->output, json_or_text(arguments->json));
            return
                [arguments](const CommandContext& context) { return bench(*arguments, context); };
          }};
}

}  // namespace recordpipe
