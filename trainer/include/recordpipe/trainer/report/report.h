// A training run as one HTML file: curves, the confusion matrix, the accuracy of each class,
// misclassified images, and the settings of the run.
//
// The page is self-contained, makes no network requests and runs no script; its content security
// policy forbids both. It follows the system's light or dark theme. The same report gives the same
// bytes.
#pragma once

#include <string>

#include "recordpipe/io/file.h"
#include "recordpipe/trainer/report/run_report.h"

namespace recordpipe {

std::string report_html(const RunReport& report);

// Writes the page to `path` atomically (AtomicFile).
void write_report(FileSystem& file_system, const std::string& path, const RunReport& report);

}  // namespace recordpipe
