// SIGINT and SIGTERM, asked about between two steps.
#pragma once

namespace recordpipe {

// From now on these signals don't end the program; a second one of them does.
void catch_interrupts();

// The signal that came, or 0.
int interrupted();

}  // namespace recordpipe
