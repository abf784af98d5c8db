# ty_module(NAME [OWN_FLAGS] [COLD] [DIR dir] [FAMILIES sub-folders…] [DEPS modules…] [LIBS third-party…])
#
# One static library per folder of src/. DEPS is the whole list of modules that it may include:
# tools/check_layers.py reads these lines and compares them with the includes. FAMILIES are
# sub-folders of the same library, which only sort its files. LIBS stay private, so a third-party
# header reaches one folder only.
#
# OWN_FLAGS: it is compiled with flags that others are not, so it cannot share the precompiled header.
# COLD: its time does not show in any figure, so release builds optimize it lightly and build faster.
function(ty_module NAME)
  cmake_parse_arguments(ARG "OWN_FLAGS;COLD" "DIR" "FAMILIES;DEPS;LIBS" ${ARGN})
  if(NOT ARG_DIR)
    set(ARG_DIR ${NAME})
  endif()
  set(folder ${CMAKE_SOURCE_DIR}/src/${ARG_DIR})
  set(patterns ${ARG_FAMILIES})
  list(TRANSFORM patterns REPLACE "(.+)" "${folder}/\\1/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${patterns})
  string(REPLACE "/" "_" target ty_${NAME})
  set_property(GLOBAL APPEND PROPERTY TY_MODULES ${target})
  list(TRANSFORM ARG_DEPS PREPEND ty_)
  if(NOT sources)  # headers alone
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ty_flags fmt::fmt ${ARG_DEPS})
    return()
  endif()
  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC ty_flags fmt::fmt ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  if(ARG_OWN_FLAGS)
    # Loops that are measured: how much is inlined depends on what else is in the unit, so batches stay small.
    ty_unity(${target} 8)
  else()
    ty_precompile(${target})
    ty_unity(${target})
  endif()
  if(ARG_COLD)
    ty_optimize_lightly(${target})
  endif()
endfunction()
