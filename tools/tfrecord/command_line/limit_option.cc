#include "tools/tfrecord/command_line/limit_option.h"

#include <CLI/CLI.hpp>

#include "tools/tfrecord/command_line/number_check.h"

namespace recordpipe {

void add_limit(CLI::App& app, std::optional<uint64_t>& limit) {
  app.add_option("--limit", limit, "At most N records: the first of those that are selected")
      ->check(whole_number())
      ->type_name("N");
}

}  // namespace recordpipe
