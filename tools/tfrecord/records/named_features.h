// The features that options name. A name that no record has is mistyped: an error in every command.
#pragma once

#include <string>
#include <vector>

#include "recordpipe/error.h"
#include "recordpipe/message_view.h"
#include "recordpipe/toolkit/feature_edit.h"

namespace recordpipe {

// Adds to `found` those of `names` that `message` has.
void find_names(const MessageView& message, const FeatureNames& names, FeatureNames& found);

// Throws Error{not_found} for the first of `names` that is not in `found`: "no record has a feature
// named lable; there are label, image". `present` are the names that there are. `looked_at_all`:
// whether all records of all inputs were looked at; else the message speaks of those that were
// read.
void require_found(const FeatureNames& names, const FeatureNames& found,
                   const std::vector<std::string>& present, bool looked_at_all);

}  // namespace recordpipe
