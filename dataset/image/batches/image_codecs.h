// The decoders and resizers of an ImageColumnCollator, shared by threads.
#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/image/decode_image.h"
#include "recordpipe/image/resize.h"

namespace recordpipe::internal {

class ImageCodecs {
 public:
  struct Codec {
    ImageDecoder decoder;
    Resizer resizer = Resizer();
  };

  explicit ImageCodecs(const DecodeOptions& options) : options_(options) {}

  // Calls use(Codec&), with a codec that no other thread uses.
  template <class Use>
  void with_codec(const Use& use) {
    Codec codec = take();
    use(codec);  // an exception drops the codec
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(codec));
  }

 private:
  Codec take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        Codec codec = std::move(idle_.back());
        idle_.pop_back();
        return codec;
      }
    }
    return {.decoder = ImageDecoder(options_)};
  }

  const DecodeOptions options_;
  std::mutex mutex_;
  std::vector<Codec> idle_;
  const AfterFork renewal_{[this] {
    if (!renew(mutex_)) renew_without_destruction(idle_);
  }};
};

}  // namespace recordpipe::internal
