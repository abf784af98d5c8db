# Language level, warnings, sanitizers, launcher and linker: everything that is the same for each target.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Debug is meant to be run: checks and symbols, but fast enough for the whole test suite.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")

# ty_optimize_lightly(TARGET): less compile time for what is not measured; -Og takes a third less than -O1. The level may
# differ from that of the precompiled header; only -O0 may not. So little is known about values then that g++ takes parts of
# std::regex for uninitialized.
function(ty_optimize_lightly TARGET)
  target_compile_options(${TARGET} PRIVATE $<$<CONFIG:Release>:-Og> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endfunction()

add_library(ty_flags INTERFACE)
# Ours alone: programs that use the installed library have flags of their own.
set(flags -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Werror
  -fno-math-errno -fno-trapping-math)
target_compile_options(ty_flags INTERFACE "$<BUILD_INTERFACE:${flags}>")
target_compile_features(ty_flags INTERFACE cxx_std_20)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns of its own std::string and std::variant once it has inlined enough (GCC bugs 105651, 105329).
  target_compile_options(ty_flags INTERFACE -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-array-bounds)
  # No garbage collection below half a gigabyte: a tenth less time, and few units reach it.
  target_compile_options(ty_flags INTERFACE
    "$<BUILD_INTERFACE:SHELL:--param ggc-min-heapsize=500000>" "$<BUILD_INTERFACE:SHELL:--param ggc-min-expand=300>")
endif()
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  # Where every processor has fused multiply-adds, results must not depend on where the compiler finds a use for them; x86-64 has
  # them in files that ask for them alone.
  target_compile_options(ty_flags INTERFACE -ffp-contract=off)
endif()
target_include_directories(ty_flags INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>)

if(TY_REPRODUCIBLE)
  target_compile_options(ty_flags INTERFACE
    "$<BUILD_INTERFACE:-ffile-prefix-map=${CMAKE_BINARY_DIR}=build>" "$<BUILD_INTERFACE:-ffile-prefix-map=${CMAKE_SOURCE_DIR}=.>")
endif()

if(TY_SANITIZE)
  target_compile_options(ty_flags INTERFACE
    -fsanitize=${TY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(ty_flags INTERFACE -fsanitize=${TY_SANITIZE})
endif()

if(TY_COVERAGE)
  # Atomic: kernels count from several threads. g++ 12 crashes in that pass on counted code at -O3 (ir/initializer.cpp).
  target_compile_options(ty_flags INTERFACE --coverage -fprofile-update=atomic -fno-ipa-cp)
  target_link_options(ty_flags INTERFACE --coverage)
endif()

if(TY_FUZZ)
  # Tells libFuzzer which branches an input took.
  target_compile_options(ty_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(ty_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(TY_CCACHE ccache)
if(TY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TY_CCACHE})
  if(TY_PRECOMPILE)
    # What ccache asks for to cache files that use a precompiled header.
    set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TY_CCACHE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(ty_flags INTERFACE -fpch-preprocess)
    else()
      target_compile_options(ty_flags INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
endif()

# ty_compile_afresh(TARGET): without the cache. A precompiled header from the cache remembers when its headers were written;
# those of a new checkout are younger, so g++ would not know them again and take each for a second definition.
function(ty_compile_afresh TARGET)
  set_target_properties(${TARGET} PROPERTIES CXX_COMPILER_LAUNCHER "")
endfunction()

# ty_precompile(TARGET): the common headers, compiled once. Not for targets or files with flags of their own.
if(TY_PRECOMPILE)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/precompiled.cpp "")
  add_library(ty_precompiled STATIC ${CMAKE_BINARY_DIR}/generated/precompiled.cpp)
  target_link_libraries(ty_precompiled PRIVATE ty_flags fmt::fmt)
  target_precompile_headers(ty_precompiled PRIVATE ${CMAKE_SOURCE_DIR}/cmake/precompiled.h)
  ty_compile_afresh(ty_precompiled)
endif()
function(ty_precompile TARGET)
  if(TY_PRECOMPILE)
    target_precompile_headers(${TARGET} REUSE_FROM ty_precompiled)
  endif()
endfunction()

# ty_unity(TARGET [SIZE]): its files in batches, each compiled at once. Files with options of their own stay alone.
function(ty_unity TARGET)
  if(TY_UNITY)
    set(size 40)
    if(ARGN)
      set(size ${ARGN})
    endif()
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${size})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Meant for headers; here it fires on a source file that another one includes.
      target_compile_options(${TARGET} PRIVATE -Wno-subobject-linkage)
    endif()
  endif()
endfunction()

find_program(TY_MOLD mold)
if(TY_MOLD)
  target_link_options(ty_flags INTERFACE -fuse-ld=mold)
endif()

if(TY_TIDY)
  set(CMAKE_CXX_CLANG_TIDY clang-tidy-14;--quiet)
endif()
