// Declares all subcommands of tfrecord; each one is defined in the file of its name.
#pragma once

#include <vector>

#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

Command bench_command();
Command cat_command();
Command completion_command();
Command convert_command();
Command count_command();
Command create_command();
Command diff_command();
Command export_command();
Command grep_command();
Command head_command();
Command index_command();
Command info_command();
Command man_command();
Command salvage_command();
Command schema_command();
Command show_command();
Command stats_command();
Command tail_command();
Command verify_command();
Command view_command();

// In the order of --help.
std::vector<Command> all_commands();

}  // namespace recordpipe
