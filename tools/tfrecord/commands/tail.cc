// tfrecord tail: prints the last records of each file.
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "dataset/toolkit/files/count_records.h"
#include "recordpipe/base/stop.h"
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/commands/ends.h"
#include "tools/tfrecord/io/inputs.h"
#include "tools/tfrecord/records/record_follower.h"

namespace recordpipe {
namespace {

struct KeptRecord {
  std::vector<std::byte> data;
  uint64_t offset;
  uint64_t number;
};

// The last records that --where selects, by reading all: keeps copies of as many as are wanted.
std::deque<KeptRecord> last_of_all(RecordPrinter& printer, const EndInput& input) {
  RecordReader reader = open_records(input.context, input.path, input.reading, input.progress);
  std::deque<KeptRecord> last;
  uint64_t number = 0;
  while (auto record = reader.read()) {
    throw_if_stopped(input.context.stop, input.path);
    record->path = input.path;
    const NumberedRecord numbered = {*record, number++};
    if (!printer.selects(numbered)) continue;
    std::vector<std::byte> data;
    if (last.size() == input.count) {
      data = std::move(last.front().data);  // reuses its memory
      last.pop_front();
    }
    data.assign(record->data.begin(), record->data.end());
    last.push_back({std::move(data), record->offset, numbered.number});
  }
  return last;
}

// Prints the last records that are there, then each that is appended, and once there are any, a
// note of names that they don't have. Returns by an exception only.
[[noreturn]] void follow(RecordPrinter& printer, const EndInput& input) {
  RecordFollower follower(input.context, input.path, input.reading);
  std::deque<RecordFollower::Entry> last;
  bool any = false;
  while (const auto entry = follower.next()) {
    any = true;
    throw_if_stopped(input.context.stop, input.path);
    if (input.selects && !printer.selects(follower.read(*entry))) continue;
    last.push_back(*entry);
    if (last.size() > input.count) last.pop_front();
  }
  for (const RecordFollower::Entry& entry : last) printer.print(follower.read(entry), input.shown);
  for (bool is_noted = false;;) {
    input.output.flush();
    if (any && !is_noted) {
      print_note(input.context, "tail", printer.require_possible(/*looked_at_all=*/false));
      is_noted = true;
    }
    follower.wait();
    while (const auto entry = follower.next()) {
      any = true;
      printer.print(follower.read(*entry), input.shown);
    }
  }
}

void print_last(RecordPrinter& printer, const EndInput& input) {
  if (input.follow) follow(printer, input);
  if (input.count == 0) return;
  const auto records = input.selects ? std::nullopt
                                     : count_without_reading(work_of(input.context, input.progress),
                                                             input.path, input.reading);
  if (records) {
    printer.print_file(input.path, input.shown, input.progress,
                       {.first = *records - std::min(input.count, *records), .end = *records});
    return;
  }
  for (const KeptRecord& record : last_of_all(printer, input)) {
    printer.print(
        {{.data = record.data, .offset = record.offset, .path = input.path}, record.number},
        input.shown);
  }
}

constexpr char kTailDescription[] =
    R"(Prints the last 10 records of each file as "tfrecord show" does. With several files, each has
a heading. An input that can't be read is reported; the others are printed. Of a plain file, only
the headers of the records before the last ones are read; if FILE.idx is beside it and matches it,
FILE.idx replaces the headers. Compressed files and standard input are read whole, and the last
records are in memory.

With --where, --tag or --step, these are the last records that are selected (see "tfrecord show"),
and files are read whole.

With --follow, which is for one uncompressed file of this machine, the command doesn't end: each
record that another program appends, as a training does to TensorBoard's event file, is printed as
soon as it is complete. A file that becomes smaller, or is replaced, is an error. A tag, or a feature
of --where, that the records which are there don't have is noted before the command waits.

--json prints the objects of "show --json", with "path" where several files are given.)";

constexpr char kTailExamples[] =
    R"(  tfrecord tail train.tfrecords
  tfrecord tail -n 1 'train-*' --json
  tfrecord tail --where 'label == 3' train.tfrecords
  tfrecord tail -f --tag 'loss*' logs/events.out.tfevents.1700000000.host)";

}  // namespace

Command tail_command() {
  return {.name = "tail",
          .summary = "Prints the last records of each file",
          .description = kTailDescription,
          .examples = kTailExamples,
          .define = [](CommandApp& app) {
            return define_end_command(app, "tail", "last", print_last, /*can_follow=*/true);
          }};
}

}  // namespace recordpipe
