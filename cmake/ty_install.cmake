# ty_install(): `cmake --install` puts the program, its manual, the libraries, the public headers and find_package(trainyard) in place.
#
# Three components, which are packages too (cmake/ty_package.cmake): program, development (what programs that use the library need)
# and documentation.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
include(public_headers)

# Files that the installed program writes about itself, where distributions look for them.
function(ty_install_manual)
  set(about ${CMAKE_BINARY_DIR}/generated/about)
  install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:trainyard> -DNOTICES=${CMAKE_SOURCE_DIR}/packaging/notices.py
    -DOUTPUT=${about} -P ${CMAKE_SOURCE_DIR}/packaging/manual.cmake COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  install(DIRECTORY ${about}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT program)
  install(FILES ${about}/bash/trainyard DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
  install(FILES ${about}/zsh/_trainyard DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
  install(FILES ${about}/fish/trainyard.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)
  install(FILES ${about}/THIRD_PARTY_NOTICES ${CMAKE_SOURCE_DIR}/NOTICE ${CMAKE_SOURCE_DIR}/LICENSE
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trainyard COMPONENT program)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trainyard-doc COMPONENT documentation)
  install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trainyard-doc
    COMPONENT documentation)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples/ DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/trainyard-doc/examples COMPONENT documentation)
endfunction()

function(ty_install)
  get_property(modules GLOBAL PROPERTY TY_MODULES)
  # What programs link: every folder but those that only the program needs, with what they stand on (jq, Boost, prometheus-cpp, gRPC).
  list(REMOVE_ITEM modules ty_http ty_lab ty_serve ty_serve_grpc ty_ui)
  add_library(trainyard_library INTERFACE)
  target_link_libraries(trainyard_library INTERFACE ${modules})
  set_target_properties(trainyard_library PROPERTIES EXPORT_NAME trainyard)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/trainyard)
  install(TARGETS trainyard RUNTIME COMPONENT program)
  install(TARGETS trainyard_c LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  ty_install_manual()
  install(TARGETS trainyard_library ty_flags ${modules} EXPORT trainyard
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/trainyard COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # Quoted, since this is a list inside the code that runs at installation.
  install(CODE "execute_process(COMMAND \${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR}/src \"-DROOTS=${TY_PUBLIC_HEADERS}\"
    -DDESTINATION=\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/trainyard
    -P ${CMAKE_SOURCE_DIR}/cmake/install_headers.cmake COMMAND_ERROR_IS_FATAL ANY)" COMPONENT development)
  # After the others, which empty the folder first.
  install(FILES ${CMAKE_SOURCE_DIR}/src/api/c/trainyard.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trainyard COMPONENT development)
  install(EXPORT trainyard NAMESPACE trainyard:: FILE trainyardTargets.cmake DESTINATION ${package} COMPONENT development)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/trainyardConfig.cmake
"# Written by cmake/ty_install.cmake.
include(CMakeFindDependencyMacro)
foreach(package IN ITEMS fmt yaml-cpp Eigen3 ONNX Protobuf)
  find_dependency(\${package})
endforeach()
set(MPI_CXX_SKIP_MPICXX ON)
find_dependency(MPI COMPONENTS CXX)
include(\${CMAKE_CURRENT_LIST_DIR}/trainyardTargets.cmake)
")
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/generated/trainyardConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/generated/trainyardConfig.cmake
    ${CMAKE_BINARY_DIR}/generated/trainyardConfigVersion.cmake DESTINATION ${package} COMPONENT development)
endfunction()
