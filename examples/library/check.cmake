# Installs the library into a folder of its own, builds the example against it and runs it (a test of tests/CMakeLists.txt).
file(REMOVE_RECURSE ${WORK})
foreach(step IN ITEMS "--install;${BUILD};--prefix;${WORK}/installed"
    "-S;${CMAKE_CURRENT_LIST_DIR};-B;${WORK}/build;-G;Ninja;-DCMAKE_PREFIX_PATH=${WORK}/installed;-DCMAKE_CXX_COMPILER=${COMPILER};-DCMAKE_CXX_FLAGS=${FLAGS}"
    "--build;${WORK}/build")
  execute_process(COMMAND ${CMAKE_COMMAND} ${step} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
# Each public header alone, and nothing of the project outside its folder.
include(${CMAKE_CURRENT_LIST_DIR}/../../cmake/public_headers.cmake)
foreach(header IN LISTS TY_PUBLIC_HEADERS)
  file(WRITE ${WORK}/alone.cpp "#include <trainyard/${header}>\n")
  execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -Wall -Wextra -Werror -I${WORK}/installed/include ${WORK}/alone.cpp
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB beside RELATIVE ${WORK}/installed/include ${WORK}/installed/include/*)
if(NOT beside STREQUAL "trainyard")
  message(FATAL_ERROR "installed into the include folder: ${beside}, expected trainyard alone")
endif()
execute_process(COMMAND ${WORK}/build/example OUTPUT_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(NOT said MATCHES "61706 parameters, 416520 multiply-adds\n[0-9.]+ ms")
  message(FATAL_ERROR "the example said: ${said}")
endif()
message("${said}")
file(REMOVE_RECURSE ${WORK})
