# ty_grpc: gRPC and what it stands on, linked into the program. As shared libraries they would be forty more to load at every start,
# which takes longer than all others together, although few servers are asked for gRPC.
add_library(ty_grpc INTERFACE)
if(TY_SANITIZE MATCHES thread)
  # tests/tsan.supp tells code that was compiled without the sanitizer by its library.
  foreach(name grpc++ grpc gpr)
    find_library(TY_SHARED_${name} ${name} REQUIRED)
    target_link_libraries(ty_grpc INTERFACE ${TY_SHARED_${name}})
  endforeach()
  return()
endif()
foreach(name grpc++ grpc gpr upb address_sorting re2 cares absl_base)
  find_library(TY_LIB_${name} lib${name}.a REQUIRED)
  list(APPEND archives ${TY_LIB_${name}})
endforeach()
cmake_path(GET TY_LIB_absl_base PARENT_PATH folder)
file(GLOB abseil ${folder}/libabsl_*.a)
# They need each other in circles.
target_link_libraries(ty_grpc INTERFACE -Wl,--start-group ${archives} ${abseil} -Wl,--end-group
  OpenSSL::SSL OpenSSL::Crypto z ${CMAKE_DL_LIBS})
