#include "tests/image/jpeg_writer.h"

#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

namespace recordpipe {

// libjpeg's own error manager ends the program, which is what a test needs.
std::string write_jpeg(std::span<const uint8_t> pixels, const ImageSize& size,
                       const JpegKind& kind) {
  jpeg_compress_struct codec = {};
  jpeg_error_mgr errors = {};
  codec.err = jpeg_std_error(&errors);
  jpeg_create_compress(&codec);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&codec, &memory, &bytes);
  codec.image_height = static_cast<JDIMENSION>(size.height);
  codec.image_width = static_cast<JDIMENSION>(size.width);
  codec.input_components = static_cast<int>(kind.channels);
  codec.in_color_space = kind.channels == 1   ? JCS_GRAYSCALE
                         : kind.channels == 3 ? JCS_RGB
                                              : JCS_CMYK;
  jpeg_set_defaults(&codec);
  if (kind.is_ycck) {
    jpeg_set_colorspace(&codec, JCS_YCCK);
    codec.comp_info[3].h_samp_factor = kind.horizontal;
    codec.comp_info[3].v_samp_factor = kind.vertical;
  }
  jpeg_set_quality(&codec, 90, TRUE);
  codec.comp_info[0].h_samp_factor = kind.horizontal;
  codec.comp_info[0].v_samp_factor = kind.vertical;
  codec.arith_code = kind.arithmetic ? TRUE : FALSE;
  codec.restart_in_rows = static_cast<int>(kind.restart_rows);
  if (kind.progressive) jpeg_simple_progression(&codec);
  jpeg_start_compress(&codec, TRUE);
  const size_t row_bytes = size.width * kind.channels;
  while (codec.next_scanline < codec.image_height) {
    auto* row = const_cast<JSAMPLE*>(pixels.data() + codec.next_scanline * row_bytes);
    jpeg_write_scanlines(&codec, &row, 1);
  }
  jpeg_finish_compress(&codec);
  std::string file(reinterpret_cast<const char*>(memory), bytes);
  jpeg_destroy_compress(&codec);
  std::free(memory);
  return file;
}

}  // namespace recordpipe
