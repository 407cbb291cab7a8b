// How well a network does on images it wasn't trained on.
#pragma once

#include <cstddef>
#include <functional>

#include "dataset/image/image_batch.h"
#include "dataset/pipeline/dataset.h"
#include "trainer/backend/backend.h"

namespace recordpipe {

// The mean loss, how many images were classified correctly, and how many there were. Each image of
// `batches` counts once; the last batch may be smaller than `batch_size`. `stop` is asked before
// each batch: once it is true, Error{cancelled} is thrown.
BatchResult evaluate(
    Backend& backend, const Network& network, Variables& variables,
    const Dataset<ImageBatch>& batches, size_t batch_size,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace recordpipe
