# ty_module(NAME [OWN_FLAGS] [COLD] [DIR dir] [DEPS modules…] [LIBS third-party…])
#
# One static library per folder of src/. DEPS are the folders it may include (tools/check_layers.py
# checks the includes themselves); LIBS stay private, so a third-party header reaches one folder only.
#
# OWN_FLAGS: it is compiled with flags that others are not, so it cannot share the precompiled header.
# COLD: its time does not show in any figure, so release builds optimise it lightly and build faster.
function(ty_module NAME)
  cmake_parse_arguments(ARG "OWN_FLAGS;COLD" "DIR" "DEPS;LIBS" ${ARGN})
  if(NOT ARG_DIR)
    set(ARG_DIR ${NAME})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${ARG_DIR}/*.cpp)
  string(REPLACE "/" "_" target ty_${NAME})
  add_library(${target} STATIC ${sources})
  set_property(GLOBAL APPEND PROPERTY TY_MODULES ${target})
  list(TRANSFORM ARG_DEPS PREPEND ty_)
  target_link_libraries(${target} PUBLIC ty_flags fmt::fmt ${ARG_DEPS} PRIVATE ${ARG_LIBS})
  if(NOT ARG_OWN_FLAGS)
    ty_precompile(${target})
  endif()
  ty_unity(${target})
  if(ARG_COLD)
    ty_optimise_lightly(${target})
  endif()
endfunction()
