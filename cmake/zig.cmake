# Toolchain file for Python wheels: Zig's Clang, which has the headers of every glibc, and links its
# libc++ statically, so that the results need a glibc of RECORDPIPE_GLIBC or newer, and nothing else.
#
#   PATH                     has zig (python/setup_wheel_tools)
#   RECORDPIPE_ARCHITECTURE  x86_64 or aarch64
#   CMAKE_FIND_ROOT_PATH     where libraries are looked for: the folder of tools/wheel_libraries
set(RECORDPIPE_WHEEL ON)
set(RECORDPIPE_GLIBC 2.28)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RECORDPIPE_ARCHITECTURE)

if(NOT RECORDPIPE_ARCHITECTURE STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(CMAKE_SYSTEM_NAME Linux)
  set(CMAKE_SYSTEM_PROCESSOR ${RECORDPIPE_ARCHITECTURE})
endif()
find_program(RECORDPIPE_ZIG zig REQUIRED NO_CMAKE_FIND_ROOT_PATH)
set(recordpipe_zig_target -target ${RECORDPIPE_ARCHITECTURE}-linux-gnu.${RECORDPIPE_GLIBC})
set(CMAKE_C_COMPILER ${RECORDPIPE_ZIG} cc ${recordpipe_zig_target})
set(CMAKE_CXX_COMPILER ${RECORDPIPE_ZIG} c++ ${recordpipe_zig_target})
set(CMAKE_ASM_COMPILER ${CMAKE_C_COMPILER})
foreach(language C CXX ASM)
  set(CMAKE_${language}_ARCHIVE_CREATE "${RECORDPIPE_ZIG} ar qc <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "${RECORDPIPE_ZIG} ar q <TARGET> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "${RECORDPIPE_ZIG} ranlib <TARGET>")
  set(CMAKE_${language}_FLAGS_INIT "-g0 -fomit-frame-pointer -ffunction-sections -fdata-sections")
endforeach()

# Nothing of this machine but programs.
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
