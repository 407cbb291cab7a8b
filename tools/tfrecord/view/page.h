// Writes the page of `tfrecord view`: a self-contained HTML file, whose content security policy
// forbids loading anything else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/view/image_finder.h"
#include "tools/tfrecord/view/overview.h"

namespace recordpipe {

struct PageContent {
  std::vector<std::string> files = {};  // as printed in messages
  std::string sampling = {};            // a sentence about the records that are shown
  std::vector<std::string> damage = {};
  const Overview& overview;
  const RecordSample& sample;  // strings of card_json()
  const ImageFinder& images;
  const Labels& labels;
  std::optional<size_t> frames_side = {};  // EpisodeOptions::thumbnail, if there are frames
};

// Returns the number of bytes written.
uint64_t write_page(Output& out, const PageContent& content);

}  // namespace recordpipe
