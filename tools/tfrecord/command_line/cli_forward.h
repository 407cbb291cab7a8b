// Names of CLI11 and CommandApp for headers, which don't need the rest: what includes all of CLI11
// takes seconds to compile.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace recordpipe {
class CommandApp;
}  // namespace recordpipe
