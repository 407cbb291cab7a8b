# Dependencies for RECORDPIPE_STANDALONE: the results need only the C library, as a Python wheel
# must. Debian's static libraries are linked where there are any that can be. Otherwise:
#
#   libstdc++, libgcc  linked statically (recordpipe_link_standalone)
#   ISA-L              only shared, needs only the C library: auditwheel copies it into the wheel
#   RE2                static in programs, for which it is compiled. In the module shared: auditwheel
#                      copies it into the wheel, and it needs the system's libstdc++, as NumPy does
#   libjpeg, libpng    static, with their references to stderr renamed (make_shareable)
#   fmt                header-only
#   libarchive, curl   need too much of the system (certificates, a C library of 2022), so .npz, tar
#                      and URLs are refused, with a hint: .../without_curl.cc, ..._without_libarchive.cc
#
# Everything else isn't looked for: the trainer, OpenMP, MPI, protobuf.

# Processes that use Python fork, and oneTBB's threads are missing in the children: plain threads.
set(RECORDPIPE_TBB OFF)

# Debian's libjpeg.a and libpng.a are compiled for programs. All that keeps them out of a shared
# library is how they refer to stderr, another library's variable, so they get a variable of ours.
function(make_shareable package library)
  find_library(RECORDPIPE_STATIC_${package} ${library})
  set(static ${RECORDPIPE_STATIC_${package}})
  if(static MATCHES "\\.a$")
    set(shareable ${PROJECT_BINARY_DIR}/lib${library}_shareable.a)
    execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=recordpipe_codecs_stderr
                            ${static} ${shareable} COMMAND_ERROR_IS_FATAL ANY)
    set(${package}_LIBRARY ${shareable} PARENT_SCOPE)
  endif()
endfunction()
make_shareable(JPEG jpeg)
make_shareable(PNG png)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
add_library(recordpipe_codecs_stderr STATIC dataset/image/codecs_stderr.cc)
set_target_properties(recordpipe_codecs_stderr PROPERTIES POSITION_INDEPENDENT_CODE ON)
foreach(codec JPEG::JPEG PNG::PNG)
  target_link_libraries(${codec} INTERFACE recordpipe_codecs_stderr)
endforeach()
# A program that linked the shared one would export all of libstdc++ to it. (With Abseil, RE2's static
# library would need a dozen of others.)
find_library(RE2_STATIC_LIBRARY libre2.a)
file(STRINGS ${RE2_INCLUDE_DIR}/re2/re2.h re2_uses_abseil REGEX "absl/" LIMIT_COUNT 1)
if(RE2_STATIC_LIBRARY AND NOT re2_uses_abseil)
  set(is_program $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
  set_target_properties(recordpipe::re2 PROPERTIES INTERFACE_LINK_LIBRARIES
                        $<IF:${is_program},${RE2_STATIC_LIBRARY},${RE2_LIBRARY}>)
endif()
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

find_path(FMT_INCLUDE_DIR fmt/format.h REQUIRED)
add_library(fmt::fmt INTERFACE IMPORTED)
target_include_directories(fmt::fmt INTERFACE ${FMT_INCLUDE_DIR})
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)

# recordpipe_link_standalone(TARGET): links the C++ library statically, and nothing that is unused.
function(recordpipe_link_standalone target)
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed
                      LINKER:--gc-sections)
endfunction()
