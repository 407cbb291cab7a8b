#include "tools/tfrecord/commands/commands.h"

namespace recordpipe {

std::vector<Command> all_commands() {
  // One a line:
  // clang-format off
  return {
      info_command(), verify_command(), show_command(), schema_command(), stats_command(), index_command(), convert_command(), salvage_command(), diff_command(), create_command(), export_command(), view_command(), bench_command(), completion_command(), man_command(),
  };
  // clang-format on
}

}  // namespace recordpipe
