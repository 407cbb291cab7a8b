// A training run as one HTML file: curves, the confusion matrix, the classes' accuracy, images that
// were classified wrongly, and what was run.
//
// The page holds all it shows, asks for nothing from the network and runs no script; its own
// content security policy forbids both. It is light or dark, as its reader's system is. The same
// report gives the same bytes.
#pragma once

#include <string>

#include "recordpipe/file.h"
#include "recordpipe/trainer/report/run_report.h"

namespace recordpipe {

std::string report_html(const RunReport& report);

// Writes it to `path`, whole or not at all (AtomicFile).
void write_report(FileSystem& file_system, const std::string& path, const RunReport& report);

}  // namespace recordpipe
