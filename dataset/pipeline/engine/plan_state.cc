#include "dataset/pipeline/engine/plan_state.h"

#include "recordpipe/error.h"

namespace recordpipe::internal {

void fail_state() {
  throw Error({.kind = ErrorKind::invalid_argument,
               .reason = "the saved state does not fit this pipeline's operators",
               .hint = "restore it into the pipeline it was saved from"});
}

}  // namespace recordpipe::internal
