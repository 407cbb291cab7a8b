// The page of `tfrecord view`: one HTML file that asks for nothing else, and is forbidden to by its
// own content security policy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/tfrecord/io/output.h"
#include "tools/tfrecord/view/image_finder.h"
#include "tools/tfrecord/view/overview.h"

namespace recordpipe {

struct PageContent {
  std::vector<std::string> files = {};  // as messages name them
  std::string sampling = {};            // a sentence: which records are shown
  std::vector<std::string> damage = {};
  const Overview& overview;
  const RecordSample& sample;  // of card_json()
  const ImageFinder& images;
  const Labels& labels;
};

// Returns how many bytes it has.
uint64_t write_page(Output& out, const PageContent& content);

}  // namespace recordpipe
