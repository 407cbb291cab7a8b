// Reads the file at a URL as a stream: one GET on a background thread, resumed after failures.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "dataset/http/target.h"
#include "recordpipe/file.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/internal/fork.h"

namespace recordpipe {

class HttpSource final : public ByteSource {
 public:
  // Returns when the first response has begun.
  HttpSource(HttpTarget target, const HttpReadOptions& options);
  // Ends the transfer.
  ~HttpSource() override;

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

}  // namespace recordpipe
