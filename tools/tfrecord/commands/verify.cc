// tfrecord verify: checks every CRC of every record, and reports damaged regions.
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "recordpipe/base/error.h"
#include "recordpipe/base/internal/url_path.h"
#include "tools/tfrecord/command_line/command.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/command_line/options.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/records/damage_report.h"
#include "tools/tfrecord/records/shard_output.h"
#include "tools/tfrecord/text/text_table.h"

namespace recordpipe {
namespace {

struct VerifyArguments {
  FileArguments files = FileArguments();
  RecordReadOptions reading = {};
  std::string output = {};
  size_t threads = 0;
  bool json = false;
  bool damaged = false;   // print the paths of damaged files only
  bool quiet = false;     // print nothing
  bool manifest = false;  // files are manifests

  bool reports() const { return !damaged && !quiet; }
};

// The report of a file is longer than it may be in memory.
struct TooLong {};

constexpr size_t kMaxKeptText = size_t{1} << 20;

class Verification {
 public:
  Verification(const VerifyArguments& arguments, const CommandContext& context,
               const std::vector<std::string>& paths)
      : arguments_(arguments),
        context_(context),
        files_(paths.size()),
        is_single_(files_ == 1),
        out_(context, arguments.output),
        progress_(context, "scan", paths) {}

  // Runs on any thread. The report of a small file is kept until its turn, but not a long one: the
  // file is then scanned again while its report is written, which bounds the memory.
  InputReport verify(const std::string& path, const FileShare& share) {
    FileShare alone = share;
    alone.threads = arguments_.threads;
    const InputReport scan_in_turn = [this, path, alone] {
      return written(path, {}, scan(path, alone, [this](std::string_view piece) {
                       if (arguments_.reports()) out_.write(piece);
                     }));
    };
    if (is_single_ || share.turn.is_alone) return scan_in_turn;
    std::string text;
    try {
      const ScanTotals totals = scan(path, share, [&](std::string_view piece) {
        if (!arguments_.reports()) return;
        if (text.size() + piece.size() > kMaxKeptText) throw TooLong();
        text += piece;
      });
      return [this, path, text = std::move(text), totals] { return written(path, text, totals); };
    } catch (const TooLong&) {
      return scan_in_turn;
    } catch (const Error& error) {
      return [this, text = std::move(text), error]() -> ExitCode {
        if (error.kind() != ErrorKind::cancelled) {
          out_.write(text);
          out_.flush();  // before the error
        }
        throw error;
      };
    }
  }

  // Ends the report of several files with a total.
  void close() {
    if (!is_single_ && arguments_.reports() && !arguments_.json) out_.write(total());
    out_.close();
    if (can_salvage_ && arguments_.reports() && !arguments_.json) {
      print_note(context_, "verify", "tfrecord salvage saves the intact records");
    }
  }

 private:
  ScanTotals scan(const std::string& path, const FileShare& share,
                  const std::function<void(std::string_view)>& write) {
    DamageReport report(arguments_.json, write);
    report.begin(path);
    try {
      const ScanTotals totals =
          scan_file(work_of(context_, progress_), path, arguments_.reading, share.threads,
                    {.intact = [&](auto, uint64_t count) { report.intact(count); },
                     .damaged = [&](const DamagedRegion& region) { report.damaged(region); }},
                    share.turn.status);
      report.end(totals);
      return totals;
    } catch (const Error& error) {
      report.failed(text_of(error));
      throw;
    }
  }

  ExitCode written(const std::string& path, std::string_view text, const ScanTotals& totals) {
    ++(totals.intact() ? intact_ : damaged_);
    can_salvage_ = can_salvage_ || (!totals.intact() && totals.records > 0);
    sum_.records += totals.records;
    sum_.lost.merge(totals.lost);
    out_.write(text);
    if (arguments_.damaged && !totals.intact()) out_.write(without_secrets(path) + "\n");
    out_.flush_soon();
    return totals.intact() ? ExitCode::ok : ExitCode::no;
  }

  // "2,000 files: 1,957 intact, 42 damaged, 1 unreadable; 81,920 intact records, 4,711 bytes lost"
  std::string total() const {
    std::string text = fmt::format("{}: {} intact", counted(files_, "file"), grouped(intact_));
    if (damaged_ > 0) text += fmt::format(", {} damaged", grouped(damaged_));
    const uint64_t unreadable = files_ - intact_ - damaged_;
    if (unreadable > 0) text += fmt::format(", {} unreadable", grouped(unreadable));
    text += fmt::format("; {}", counted(sum_.records, "intact record"));
    if (damaged_ > 0) text += fmt::format(", {} lost", byte_count(sum_.lost.bytes));
    if (sum_.lost.compressed_bytes > 0) {
      text += fmt::format(", and {}", counted(sum_.lost.compressed_bytes, "compressed byte"));
    }
    return text + "\n";
  }

  const VerifyArguments& arguments_;
  const CommandContext& context_;
  const uint64_t files_;
  const bool is_single_;
  Output out_;
  InputProgress progress_;
  // Of the files that were reported.
  uint64_t intact_ = 0;
  uint64_t damaged_ = 0;
  bool can_salvage_ = false;  // a damaged file has intact records
  ScanTotals sum_ = {};
};

ExitCode verify(const VerifyArguments& arguments, const CommandContext& context) {
  const auto paths = arguments.files.paths(context);
  if (!arguments.reports() && (arguments.json || arguments.manifest)) {
    throw UsageError("--damaged and --quiet are for verify without --json and --manifest");
  }
  if (arguments.damaged && arguments.quiet) {
    throw UsageError("--damaged prints paths, --quiet nothing: give one of them");
  }
  if (arguments.manifest) {
    Output out(context, arguments.output);
    const ExitCode status = check_manifests(context, paths, arguments.threads, arguments.json, out);
    out.close();
    return status;
  }
  Verification verification(arguments, context, paths);
  const ExitCode status = for_each_input_at_once(
      context, "verify", paths, arguments.threads,
      [&](const FileShare& share) { return verification.verify(paths[share.number], share); },
      answer_of);
  verification.close();
  return status;
}

}  // namespace

Command verify_command() {
  return {
      .name = "verify",
      .summary = "Checks every CRC, and says which bytes are damaged",
      .description =
          R"(Plain files are checked on all cores. For each file, the report says that it is intact,
or which bytes [begin, end) are damaged, why, and how many intact records are before, between and
after these regions. After damage, the next record is searched for at every byte: one whose length
CRC and data CRC are both correct. In compressed files, offsets are those of the decompressed
content. If a compressed file is damaged itself, reading continues at the next gzip member or zstd
frame; the report says how many compressed bytes can't be decompressed. The report of several files
ends with a total.

--json prints one object for each file: {path, records, intact, regions: [{begin, end, reason,
records_before}], bytes, bytes_lost, compression}. records is the number of intact records,
records_before the number of those before the region; intact is true if the file has nothing but
records; bytes is the size of the decompressed content. If a file could not be read to its end,
error is the reason, and bytes, bytes_lost and compression are missing. If compressed bytes can't be
decompressed, compressed_bytes_lost is their number; bytes_lost is of the decompressed content.

--manifest compares the files that "tfrecord convert" or "salvage" made with --to-dir with the
manifest of that run. This also finds files that are missing, or intact but not the same.)",
      .examples = R"(  tfrecord verify train.tfrecords
  tfrecord verify --manifest out/manifest.jsonl
  tfrecord verify --damaged 'train-*' > damaged.txt
  curl -s https://example.org/train.tfrecords.gz | tfrecord verify -)",
      .answers_no = "a file is damaged, or differs from the manifest",
      .define = [](CommandApp& app) -> CommandAction {
        const auto arguments = std::make_shared<VerifyArguments>();
        add_files(app, arguments->files);
        add_format_options(app, arguments->reading);
        add_output(app, arguments->output, json_or_text(arguments->json));
        add_threads(app, arguments->threads);
        app.add_flag(
            "--manifest", arguments->manifest,
            "FILE is a manifest.jsonl of --to-dir: check the files beside it by their size "
            "and their CRC-32C");
        app.add_flag("--json", arguments->json, "Print one JSON object per file");
        app.add_flag("--damaged", arguments->damaged,
                     "Print only the paths of damaged files, one per line");
        app.add_flag("-q,--quiet", arguments->quiet,
                     "Print nothing: the exit status says whether all files are intact");
        return [arguments](const CommandContext& context) { return verify(*arguments, context); };
      }};
}

}  // namespace recordpipe
