// Writes the header of an array of images, and guesses the shape of their pixels.
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "recordpipe/toolkit/numpy.h"
#include "recordpipe/toolkit/pixel_guess.h"

using namespace recordpipe;

namespace {

class Printed final : public ByteSink {
 public:
  void write(std::span<const std::byte> data) override { size_ += data.size(); }
  void close() override { std::printf("%s\n", size_ > 0 ? "an archive" : "nothing"); }
  const std::string& path() const override { return path_; }

 private:
  std::string path_ = "standard output";
  size_t size_ = 0;
};

}  // namespace

int main() {
  const std::vector<uint64_t> shape = {0, 32, 32, 3};
  const std::string header = npy_header_text("|u1", shape);
  Printed out;
  NpzWriter writer(out);
  writer.begin("images", header.size());
  writer.write(std::as_bytes(std::span(header)));
  writer.close();
  out.close();
  const uint64_t bytes = parse_npy_header(std::as_bytes(std::span(header))).row_bytes();
  std::printf("%s\n", PixelGuess().shape_of(MessageView(), bytes)->why.c_str());
}
