# Dependencies for RECORDPIPE_STANDALONE: the results need only the C library, as a Python wheel
# must. Debian's static libraries are linked where there are any that can be. Otherwise:
#
#   libstdc++, libgcc  linked statically (recordpipe_link_standalone)
#   ISA-L              only shared, needs only the C library: auditwheel copies it into the wheel
#   RE2                static in programs, for which it is compiled. In the module shared: auditwheel
#                      copies it into the wheel, and it needs the system's libstdc++, as NumPy does
#   libjpeg, libpng    static, with their references to stderr renamed (make_shareable)
#   fmt                header-only
#   curl, libarchive   static, from RECORDPIPE_WHEEL_LIBRARIES: Debian's static ones need dozens of
#                      others. Else the system's shared ones, if they are there: `pip install
#                      .`. Without them, URLs, .npz and tar are refused, with a hint:
#                      .../without_curl.cc, ..._without_libarchive.cc
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
set(RECORDPIPE_WHEEL_LIBRARIES "" CACHE PATH
    "Folder of tools/wheel_libraries; empty: the system's libcurl and libarchive")
# wheel_library(TARGET NAME LIBRARY...): the static library NAME, which needs others.
function(wheel_library target name)
  add_library(${target} STATIC IMPORTED)
  set_target_properties(${target} PROPERTIES
    IMPORTED_LOCATION ${RECORDPIPE_WHEEL_LIBRARIES}/lib/lib${name}.a
    INTERFACE_INCLUDE_DIRECTORIES ${RECORDPIPE_WHEEL_LIBRARIES}/include
    INTERFACE_LINK_LIBRARIES "${ARGN}")
endfunction()
if(RECORDPIPE_WHEEL_LIBRARIES)
  wheel_library(CURL::libcurl curl OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB Threads::Threads)
  set(wheel_lib ${RECORDPIPE_WHEEL_LIBRARIES}/lib)
  wheel_library(LibArchive::LibArchive archive ${wheel_lib}/libbz2.a ${wheel_lib}/liblzma.a
                ${wheel_lib}/liblz4.a ZLIB::ZLIB Threads::Threads)
else()
  find_library(CURL_LIBRARY libcurl.so)  # where there is a static one, too
  find_package(CURL 7.85)
  find_library(LibArchive_LIBRARY libarchive.so)
  find_package(LibArchive)
endif()
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
