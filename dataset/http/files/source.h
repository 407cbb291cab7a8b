// Reads the file at a URL as a stream: one GET, resumed after failures.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "recordpipe/base/internal/fork.h"
#include "recordpipe/http/file_system.h"
#include "recordpipe/http/url.h"
#include "recordpipe/io/file.h"

namespace recordpipe {

// The constructor waits for the head of the response. options.read_ahead bytes are received ahead
// of read(). Not thread-safe.
class HttpSource final : public ByteSource {
 public:
  HttpSource(const HttpUrl& url, const HttpReadOptions& options);
  // Ends the transfer.
  ~HttpSource() override;

  size_t read(std::span<std::byte> out) override;
  const std::string& path() const override;

 private:
  struct State;
  std::unique_ptr<State, internal::DeleteUnlessForked> state_;
};

}  // namespace recordpipe
