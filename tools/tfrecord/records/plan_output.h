// Prints what a command would do: --dry-run.
#pragma once

#include "dataset/toolkit/jobs/convert_plan.h"
#include "tools/tfrecord/command_line/command.h"

namespace recordpipe {

// On standard output, as text or as {"inputs", "bytes", "records", "read_twice", "outputs"}.
ExitCode print_plan(const CommandContext& context, const ConvertPlan& plan, bool json);

}  // namespace recordpipe
