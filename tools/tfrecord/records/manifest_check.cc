// verify --manifest.
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/io/input_progress.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/json_output.h"
#include "tools/tfrecord/records/shard_output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

std::string line_of(const std::string& path, const ShardRecord& expected,
                    const std::string& difference, bool json) {
  if (!json) {
    return fmt::format("{}: {}\n", shown_path(path),
                       difference.empty() ? fmt::format("as in the manifest, {}, {}",
                                                        counted(expected.counts.records, "record"),
                                                        byte_count(expected.bytes))
                                          : difference);
  }
  nlohmann::ordered_json line = {{"path", without_secrets(path)},
                                 {"records", expected.counts.records},
                                 {"bytes", expected.bytes},
                                 {"intact", difference.empty()}};
  if (!difference.empty()) line["error"] = difference;
  return json_line(line);
}

}  // namespace

ExitCode check_manifests(const CommandContext& context, const std::vector<std::string>& manifests,
                         size_t threads, bool json, Output& out) {
  std::vector<std::string> paths;
  std::vector<ShardRecord> expected;
  uint64_t bytes = 0;
  for (const std::string& manifest : manifests) {
    for (ShardRecord& record : read_manifest(context.files, manifest)) {
      paths.push_back(parent_directory(manifest) + "/" + record.output);
      bytes += record.bytes;
      expected.push_back(std::move(record));
    }
  }
  InputProgress progress(context, "verify", bytes);
  uint64_t differing = 0;
  const ExitCode status = for_each_input_at_once(
      context, "verify", paths, threads,
      [&](const FileShare& share) -> InputReport {
        const size_t i = share.number;
        const std::string found =
            difference(find_output(context.files, paths[i], expected[i]), expected[i]);
        progress.add(expected[i].bytes);
        return [&, i, found] {
          context.progress.clear();
          out.write(line_of(paths[i], expected[i], found, json));
          differing += found.empty() ? 0 : 1;
          return found.empty() ? ExitCode::ok : ExitCode::no;
        };
      },
      [](ErrorKind) { return ExitCode::trouble; },
      // One thread reads a file, also a large one.
      turn_of_headers);
  context.progress.clear();
  // Which files can't be read was said.
  if (!json && status != ExitCode::trouble) {
    const bool is_one = (status == ExitCode::ok ? paths.size() : differing) == 1;
    print_summary(context,
                  status == ExitCode::ok
                      ? fmt::format("{} {} as in the manifest", counted(paths.size(), "file"),
                                    is_one ? "is" : "are")
                      : fmt::format("{} of {} {} from the manifest", grouped(differing),
                                    counted(paths.size(), "file"), is_one ? "differs" : "differ"));
  }
  return status;
}

}  // namespace recordpipe
