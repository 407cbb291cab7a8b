// CLI11's names for headers, which don't need the rest: what includes all of it takes seconds to
// compile.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
