// tfrecord head: prints the first records of each file.
#include "tools/tfrecord/command_line/command_app.h"
#include "tools/tfrecord/commands/commands.h"
#include "tools/tfrecord/commands/ends.h"

namespace recordpipe {
namespace {

constexpr char kHeadDescription[] =
    R"(Prints the first 10 records of each file as "tfrecord show" does. With several files, each has a
heading. An input that can't be read is reported; the others are printed.

With --where, these are the first records that it selects; see "tfrecord show". --json prints the
objects of "show --json", with "path" where several files are given.)";

constexpr char kHeadExamples[] =
    R"(  tfrecord head train.tfrecords
  tfrecord head -n 1 'train-*' --json
  tfrecord head --where 'label == 3' train.tfrecords)";

}  // namespace

Command head_command() {
  return {.name = "head",
          .summary = "Prints the first records of each file",
          .description = kHeadDescription,
          .examples = kHeadExamples,
          .define = [](CommandApp& app) {
            return define_end_command(
                app, "head", "first", [](RecordPrinter& printer, const EndInput& input) {
                  RecordRange range = {};
                  if (!input.selects) range.end = input.count;
                  printer.print_file(input.path, input.shown, input.progress, range);
                });
          }};
}

}  // namespace recordpipe
