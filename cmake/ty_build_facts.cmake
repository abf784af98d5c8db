# ty_build_facts(TARGET): what `trainyard version --verbose` says of the build, as two generated files of the target.
#
# The commit is a file of its own, written again when Git's log of HEAD changes, so that a commit costs one small file
# and no configuring. TY_COMMIT says it where there is no checkout.
set(TY_COMMIT "" CACHE STRING "The commit that this is built from, where Git cannot be asked")

# The version of a library, as pkg-config knows it; empty where it does not.
function(ty_pkg_version VARIABLE MODULE)
  find_program(TY_PKG_CONFIG pkg-config)
  set(version "")
  if(TY_PKG_CONFIG)
    execute_process(COMMAND ${TY_PKG_CONFIG} --modversion ${MODULE} OUTPUT_VARIABLE version ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(version STREQUAL "0.0.0")  # RE2's file says so
    set(version "")
  endif()
  set(${VARIABLE} "${version}" PARENT_SCOPE)
endfunction()

# The version in a header: the numbers of its lines that match, joined by points. Empty without the header.
function(ty_header_version VARIABLE HEADER PATTERN)
  find_file(TY_HEADER_${VARIABLE} ${HEADER})
  set(numbers "")
  if(TY_HEADER_${VARIABLE})
    file(STRINGS ${TY_HEADER_${VARIABLE}} lines REGEX "define ${PATTERN}")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*[ \"]([0-9_]+)\"?$" "\\1" number "${line}")
      list(APPEND numbers ${number})
    endforeach()
  endif()
  list(JOIN numbers "." version)
  string(REPLACE "_" "." version "${version}")
  set(${VARIABLE} "${version}" PARENT_SCOPE)
endfunction()

# Packages that were found, with their versions, as rows of the table in build_facts.cpp.in.
function(ty_built_with VARIABLE)
  ty_header_version(boost boost/version.hpp BOOST_LIB_VERSION)
  ty_header_version(onednn oneapi/dnnl/dnnl_version.h "DNNL_VERSION_(MAJOR|MINOR|PATCH)")
  foreach(module libpng libjpeg pugixml zlib libzstd clp grpc++ re2 libcares absl_base)
    ty_pkg_version(found_${module} ${module})
  endforeach()
  set(rows
    "fmt|${fmt_VERSION}|shared" "yaml-cpp|${yaml-cpp_VERSION}|shared" "ONNX|${ONNX_VERSION}|shared"
    "Protocol Buffers|${Protobuf_VERSION}|shared" "OpenSSL|${OPENSSL_VERSION}|shared"
    "prometheus-cpp|${prometheus-cpp_VERSION}|shared" "MPI standard|${MPI_CXX_VERSION}|shared"
    "oneDNN|${onednn}|shared" "jq||shared" "COIN-OR CLP|${found_clp}|shared" "libpng|${found_libpng}|shared"
    "libjpeg|${found_libjpeg}|shared" "pugixml|${found_pugixml}|shared" "zlib|${found_zlib}|shared" "Zstandard|${found_libzstd}|shared"
    "gRPC|${found_grpc++}|static" "RE2|${found_re2}|static" "c-ares|${found_libcares}|static" "Abseil|${found_absl_base}|static"
    "Boost|${boost}|headers" "CLI11|${CLI11_VERSION}|headers" "Eigen|${Eigen3_VERSION}|headers")
  list(TRANSFORM rows REPLACE "(.*)\\|(.*)\\|(.*)" "    {\"\\1\", \"\\2\", \"\\3\"},\n")
  list(JOIN rows "" table)
  set(${VARIABLE} "${table}" PARENT_SCOPE)
endfunction()

function(ty_build_facts TARGET)
  set(generated ${CMAKE_BINARY_DIR}/generated/program)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  string(STRIP "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}" TY_BUILD_FLAGS)
  set(TY_BUILD_OPTIONS "CMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}")
  foreach(option TY_PRECOMPILE TY_UNITY TY_SANITIZE TY_COVERAGE TY_FUZZ)
    if(${option})
      string(APPEND TY_BUILD_OPTIONS " ${option}=${${option}}")
    endif()
  endforeach()
  ty_built_with(TY_BUILT_WITH)
  configure_file(${CMAKE_SOURCE_DIR}/src/program/build_facts.cpp.in ${generated}/build_facts.cpp @ONLY)
  set(log "")
  find_package(Git QUIET)
  if(GIT_FOUND AND EXISTS ${CMAKE_SOURCE_DIR}/.git)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} rev-parse --path-format=absolute --git-path logs/HEAD
      OUTPUT_VARIABLE log ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS "${log}")
      set(log "")
    endif()
  endif()
  add_custom_command(OUTPUT ${generated}/commit.h
    COMMAND ${CMAKE_COMMAND} -DGIT=${GIT_EXECUTABLE} -DSOURCE=${CMAKE_SOURCE_DIR} -DCOMMIT=${TY_COMMIT} -DOUTPUT=${generated}/commit.h
      -P ${CMAKE_SOURCE_DIR}/cmake/write_commit.cmake
    DEPENDS ${CMAKE_SOURCE_DIR}/cmake/write_commit.cmake ${log} VERBATIM)
  target_sources(${TARGET} PRIVATE ${generated}/build_facts.cpp ${generated}/commit.h)
  set_source_files_properties(${generated}/build_facts.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
endfunction()
