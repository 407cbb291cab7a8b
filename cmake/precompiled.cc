// The source of targets that only precompile headers for others (targets.cmake, testing.cmake).
