// The source of the targets that only precompile headers for other targets (targets.cmake,
// testing.cmake).
