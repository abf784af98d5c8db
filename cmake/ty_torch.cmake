# ty_torch_plugin(): libtrainyard_torch.so, the one library that is linked to libtorch (src/engine/kernels/torch/plugin). The program opens
# it at run time; nothing else is built differently with it or without.
#
# TRAINYARD_TORCH: ON needs libtorch, OFF leaves the plugin out, AUTO (the default) builds it with g++ where libtorch is found: Debian's libtorch-dev,
# or the folder that TRAINYARD_TORCH_DIR names, which has include/ and lib/ (the folder `torch` of PyPI's package).
set(TRAINYARD_TORCH AUTO CACHE STRING "Build the plugin that runs networks through libtorch: ON, OFF or AUTO")
set(TRAINYARD_TORCH_DIR "" CACHE PATH "Folder of libtorch, with include/ and lib/; empty: the system's")

function(ty_torch_plugin)
  if(NOT TRAINYARD_TORCH)
    return()
  endif()
  # ATen's headers of 1.13 are no C++20 to clang 14, and what sanitizers say of libtorch, which is built without them, is not ours to mend.
  if(TRAINYARD_TORCH STREQUAL AUTO AND (NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU OR TY_SANITIZE))
    return()
  endif()
  set(where)
  if(TRAINYARD_TORCH_DIR)
    set(where PATHS ${TRAINYARD_TORCH_DIR}/include ${TRAINYARD_TORCH_DIR}/lib NO_DEFAULT_PATH)
  endif()
  # Its own TorchConfig.cmake asks for the CUDA toolkit, which the plugin does not need.
  find_path(TY_TORCH_HEADERS ATen/ATen.h ${where})
  find_library(TY_TORCH_CPU torch_cpu ${where})
  find_library(TY_TORCH_C10 c10 ${where})
  find_library(TY_TORCH_CUDA NAMES torch_cuda torch_hip ${where})
  mark_as_advanced(TY_TORCH_HEADERS TY_TORCH_CPU TY_TORCH_C10 TY_TORCH_CUDA)
  if(NOT TY_TORCH_HEADERS OR NOT TY_TORCH_CPU OR NOT TY_TORCH_C10)
    if(NOT TRAINYARD_TORCH STREQUAL AUTO)
      message(FATAL_ERROR "libtorch is not found: apt install libtorch-dev, or name its folder with -DTRAINYARD_TORCH_DIR (docs/gpu.md)")
    endif()
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/engine/kernels/torch/plugin/*.cpp)
  add_library(trainyard_torch MODULE ${sources})
  target_link_libraries(trainyard_torch PRIVATE ty_flags ${TY_TORCH_CPU} ${TY_TORCH_C10})
  # libtorch's devices announce themselves when their library is loaded; nothing calls into it by name.
  if(TY_TORCH_CUDA)
    target_link_options(trainyard_torch PRIVATE -Wl,--no-as-needed)
    target_link_libraries(trainyard_torch PRIVATE ${TY_TORCH_CUDA})
  endif()
  target_include_directories(trainyard_torch SYSTEM PRIVATE ${TY_TORCH_HEADERS} ${TY_TORCH_HEADERS}/torch/csrc/api/include)
  # ATen's headers take most of the time: all files at once, whatever TY_UNITY says.
  set_target_properties(trainyard_torch PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0 CXX_VISIBILITY_PRESET hidden
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} OUTPUT_NAME trainyard_torch PREFIX lib)
  # What it computes is libtorch's; ours are a few calls.
  ty_optimize_lightly(trainyard_torch)
  install(TARGETS trainyard_torch LIBRARY DESTINATION lib/trainyard COMPONENT torch)
endfunction()
