// Linked into test programs: with RECORDPIPE_TEST_THREADS=plain in the environment, their crews
// have plain threads instead of oneTBB's.
#include <cstdlib>
#include <string_view>

#include "dataset/parallel/crew.h"

namespace recordpipe {
namespace {

[[maybe_unused]] const bool plain_threads_chosen = [] {
  const char* const threads = std::getenv("RECORDPIPE_TEST_THREADS");
  if (!threads || std::string_view(threads) != "plain") return false;
  parallel::use_plain_threads();
  return true;
}();

}  // namespace
}  // namespace recordpipe
