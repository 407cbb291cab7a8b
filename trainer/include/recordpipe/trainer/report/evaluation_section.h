// The part of a report that tells of the last evaluation: the confusion matrix, each class'
// accuracy, and the most confident mistakes as images.
#pragma once

#include <span>
#include <string>

#include "recordpipe/trainer/report/run_report.h"

namespace recordpipe {

// A <section>. Images of one or three channels are shown, as PNG files within the page.
std::string evaluation_html(const FinalEvaluation& final_evaluation,
                            std::span<const std::string> class_names);

}  // namespace recordpipe
