# Dependencies for RECORDPIPE_STANDALONE: what the Python package and its tfrecord need. In a wheel
# (cmake/zig.cmake), all are static, from tools/wheel_libraries, with libc++: the results need only the
# C library. Elsewhere (`pip install .`), they are the system's; without curl or libarchive,
# URLs, .npz and tar are refused, with a hint: .../without_curl.cc, ..._without_libarchive.cc.
#
# Everything else isn't looked for: the trainer, OpenMP, MPI, protobuf.

# Processes that use Python fork, and oneTBB's threads are missing in the children: plain threads.
set(RECORDPIPE_TBB OFF)

find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ${RECORDPIPE_WHEEL})
find_package(OpenSSL REQUIRED)
find_package(CURL 7.85)
find_package(LibArchive)
if(RECORDPIPE_WHEEL)
  foreach(library bz2 lzma lz4)
    find_library(RECORDPIPE_${library} ${library} REQUIRED)
    target_link_libraries(LibArchive::LibArchive INTERFACE ${RECORDPIPE_${library}})
  endforeach()
  target_link_libraries(LibArchive::LibArchive INTERFACE ZLIB::ZLIB)
endif()
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE_DIR})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)

# recordpipe_link_standalone(TARGET): links nothing that is unused, and no names of local symbols.
function(recordpipe_link_standalone target)
  target_link_options(${target} PRIVATE LINKER:--as-needed LINKER:--gc-sections -s)
endfunction()
