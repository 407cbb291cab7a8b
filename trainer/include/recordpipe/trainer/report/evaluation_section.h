// The report's section on the last evaluation: the confusion matrix, the accuracy of each class,
// and the most confident mistakes as images.
#pragma once

#include <span>
#include <string>

#include "recordpipe/trainer/report/run_report.h"

namespace recordpipe {

// A <section>. Images of one or three channels are embedded as PNG files.
std::string evaluation_html(const FinalEvaluation& final_evaluation,
                            std::span<const std::string> class_names);

}  // namespace recordpipe
