// What a command's description is made of: paragraphs, tables of words and what they mean, and
// lines that stay as they are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace recordpipe {

struct TextBlock {
  enum class Kind {
    paragraph,
    row,       // "csv     A header line and", with what follows below the second column
    verbatim,  // a line that is indented in another way
    gap,       // an empty line
  };

  Kind kind = Kind::paragraph;
  std::string word = {};  // of a row
  std::string text = {};  // lines of a paragraph or a row are joined by spaces
  size_t column = 0;      // of a row: where its text begins
};

std::vector<TextBlock> text_blocks(const std::string& text);

// `text` in lines of at most `width` characters, each behind `indent`. Paragraphs and rows are
// filled anew, rows with their column kept free below the word.
std::string wrapped(const std::string& text, size_t width, const std::string& indent);

}  // namespace recordpipe
