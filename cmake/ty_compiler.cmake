# Language level, warnings, sanitizers, launcher and linker: everything that is the same for each target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Debug is meant to be run: checks and symbols, but fast enough for the whole test suite.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")

add_library(ty_flags INTERFACE)
target_compile_options(ty_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlapping copies in its own std::string (GCC bug 105651).
  target_compile_options(ty_flags INTERFACE -Wno-restrict)
endif()
target_include_directories(ty_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)

if(TY_SANITIZE)
  target_compile_options(ty_flags INTERFACE
    -fsanitize=${TY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(ty_flags INTERFACE -fsanitize=${TY_SANITIZE})
endif()

if(TY_FUZZ)
  # Tells libFuzzer which branches an input took.
  target_compile_options(ty_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(ty_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(TY_CCACHE ccache)
if(TY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TY_CCACHE})
endif()

find_program(TY_MOLD mold)
if(TY_MOLD)
  target_link_options(ty_flags INTERFACE -fuse-ld=mold)
endif()

if(TY_TIDY)
  set(CMAKE_CXX_CLANG_TIDY clang-tidy-14;--quiet)
endif()
