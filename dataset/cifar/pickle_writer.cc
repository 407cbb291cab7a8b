#include "dataset/cifar/pickle_writer.h"

#include <utility>

namespace recordpipe {
namespace {

// Python 2 writes lists in runs of this length.
constexpr size_t kRun = 1000;

class PickleWriter {
 public:
  explicit PickleWriter(size_t expected_size) {
    out_.reserve(expected_size);
    out_ += "\x80\x02}";
    put();
    out_ += '(';
  }

  // Writes a memoized string.
  void name(std::string_view text) {
    short_string(text);
    put();
  }
  void short_string(std::string_view text) {
    out_ += 'U';
    out_ += static_cast<char>(text.size());
    out_ += text;
  }
  void long_string(std::span<const std::byte> bytes) {
    out_ += 'T';
    little_endian(bytes.size(), 4);
    out_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    put();
  }
  void number(uint64_t value) {
    const size_t bytes = value < 256 ? 1 : value < 65536 ? 2 : 4;
    out_ += bytes == 1 ? 'K' : bytes == 2 ? 'M' : 'J';
    little_endian(value, bytes);
  }
  template <class Write>
  void list(size_t size, Write write) {
    out_ += ']';
    put();
    for (size_t i = 0; i < size; ++i) {
      if (i % kRun == 0) out_ += i == 0 ? "(" : "e(";
      write(i);
    }
    if (size > 0) out_ += 'e';
  }
  void array(std::span<const std::byte> pixels, size_t rows) {
    raw("cnumpy.core.multiarray\n_reconstruct\n");
    put();
    raw("cnumpy\nndarray\n");
    put();
    number(0);
    raw("\x85");  // (0,)
    short_string("b");
    raw("\x87R");
    put();
    raw("(");
    number(1);
    number(rows);
    number(kCifarImageSize);
    raw("\x86");
    raw("cnumpy\ndtype\n");
    put();
    short_string("u1");
    number(0);
    number(1);
    raw("\x87R");
    put();
    raw("(");
    number(3);
    short_string("|");
    raw("NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff");
    number(0);
    raw("tb\x89");  // not in Fortran order
    long_string(pixels);
    raw("tb");
  }
  std::string finish() {
    out_ += "u.";
    return std::move(out_);
  }

 private:
  void raw(std::string_view opcodes) { out_ += opcodes; }
  void little_endian(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 255);
  }
  // Writes BINPUT or LONG_BINPUT. Memo indices count from 1.
  void put() {
    ++memo_;
    out_ += memo_ < 256 ? 'q' : 'r';
    little_endian(memo_, memo_ < 256 ? 1 : 4);
  }

  std::string out_;
  uint32_t memo_ = 0;
};

}  // namespace

std::string make_cifar_pickle(std::string_view batch_label, const CifarBatch& batch,
                              const std::vector<std::string>& file_names) {
  const size_t pixels = batch.rows() * kCifarImageSize;
  PickleWriter pickle(pixels + 64 * batch.rows() + 1024);
  pickle.name("batch_label");
  pickle.name(batch_label);
  pickle.name("labels");
  pickle.list(batch.rows(), [&](size_t i) { pickle.number(batch.labels[i]); });
  pickle.name("data");
  pickle.array({batch.pixels.get(), pixels}, batch.rows());
  pickle.name("filenames");
  pickle.list(file_names.size(), [&](size_t i) { pickle.name(file_names[i]); });
  return pickle.finish();
}

std::string make_cifar_meta_pickle(uint16_t rows_per_batch,
                                   std::span<const std::string_view> label_names) {
  PickleWriter pickle(1024);
  pickle.name("num_cases_per_batch");
  pickle.number(rows_per_batch);
  pickle.name("label_names");
  pickle.list(label_names.size(), [&](size_t i) { pickle.name(label_names[i]); });
  pickle.name("num_vis");
  pickle.number(kCifarImageSize);
  return pickle.finish();
}

}  // namespace recordpipe
