#include "tools/tfrecord/command_line/text_blocks.h"

#include <sstream>

namespace recordpipe {
namespace {

// `words` behind `begin`, which is as wide as `indent`; all lines but the first behind `indent`.
std::string filled(const std::string& words, size_t width, const std::string& begin,
                   const std::string& indent) {
  std::string out;
  std::string line = begin;
  bool is_empty = true;
  std::istringstream stream(words);
  for (std::string word; stream >> word;) {
    if (!is_empty && line.size() + 1 + word.size() > width) {
      out.append(line).append("\n");
      line = indent;
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return is_empty ? out : out + line + "\n";
}

}  // namespace

std::vector<TextBlock> text_blocks(const std::string& text) {
  std::vector<TextBlock> blocks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    using Kind = TextBlock::Kind;
    const Kind last = blocks.empty() ? Kind::gap : blocks.back().kind;
    const size_t begin = line.find_first_not_of(' ');
    const size_t word_end = line.find("  ");
    if (begin == line.npos) {
      blocks.push_back({.kind = Kind::gap});
    } else if (begin > 0 && last == Kind::row && begin == blocks.back().column) {
      blocks.back().text.append(" ").append(line, begin);
    } else if (begin > 0) {
      blocks.push_back({.kind = Kind::verbatim, .text = line});
    } else if (word_end != line.npos) {
      const size_t column = line.find_first_not_of(' ', word_end);
      blocks.push_back({.kind = Kind::row,
                        .word = line.substr(0, word_end),
                        .text = line.substr(column),
                        .column = column});
    } else if (last == Kind::paragraph) {
      blocks.back().text.append(" ").append(line);
    } else {
      blocks.push_back({.kind = Kind::paragraph, .text = line});
    }
  }
  return blocks;
}

std::string wrapped(const std::string& text, size_t width, const std::string& indent) {
  std::string out;
  for (const TextBlock& block : text_blocks(text)) {
    switch (block.kind) {
      case TextBlock::Kind::paragraph:
        out += filled(block.text, width, indent, indent);
        break;
      case TextBlock::Kind::row: {
        const std::string below = indent + std::string(block.column, ' ');
        std::string begin = indent + block.word;
        begin.resize(below.size(), ' ');
        out += filled(block.text, width, begin, below);
        break;
      }
      case TextBlock::Kind::verbatim:
        out += indent + block.text + "\n";
        break;
      case TextBlock::Kind::gap:
        out += "\n";
        break;
    }
  }
  return out;
}

}  // namespace recordpipe
