// The only source of targets that precompile headers for other targets (targets.cmake,
// testing.cmake).
