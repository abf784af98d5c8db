# ty_package(): Debian packages of the three components of cmake/ty_install.cmake, made by `cpack` (tools/package).
set(TY_MAINTAINER "Trainyard maintainers <trainyard@users.noreply.github.com>" CACHE STRING "Maintainer of packages, with an address")

# ty_debian_package(COMPONENT NAME SECTION DESCRIPTION): the fields of one package, set where include(CPack) sees them.
macro(ty_debian_package COMPONENT NAME SECTION DESCRIPTION)
  string(TOUPPER ${COMPONENT} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${NAME})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${SECTION})
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${DESCRIPTION}")
endmacro()

# Debian's changelog of this version, dated by the commit, so that the same source gives the same package.
function(ty_debian_changelog)
  set(date "$ENV{SOURCE_DATE_EPOCH}")
  find_package(Git QUIET)
  if(NOT date AND GIT_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${CMAKE_SOURCE_DIR} log -1 --format=%ct OUTPUT_VARIABLE date ERROR_QUIET
      OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  if(date)
    set(ENV{SOURCE_DATE_EPOCH} ${date})
  endif()
  string(TIMESTAMP written "%a, %d %b %Y %H:%M:%S +0000" UTC)
  file(WRITE ${CMAKE_BINARY_DIR}/generated/changelog.Debian
    "%package% (${PROJECT_VERSION}-1) unstable; urgency=medium\n\n  * Upstream release ${PROJECT_VERSION}.\n\n -- ${TY_MAINTAINER}  ${written}\n")
endfunction()

function(ty_package)
  ty_debian_changelog()
  install(FILES ${CMAKE_SOURCE_DIR}/packaging/systemd/trainyard-serve.service ${CMAKE_SOURCE_DIR}/packaging/systemd/trainyard-ui.service DESTINATION lib/systemd/system COMPONENT program)
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME trainyard)
  set(CPACK_PACKAGE_CONTACT "${TY_MAINTAINER}")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL program development documentation)
  set(CPACK_COMPONENTS_GROUPING IGNORE)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
  set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
  set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  # libtrainyard.so: what it is linked to, and what is linked to it.
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/packaging/debian/triggers")
  set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/packaging/debian/complete.cmake)
  set(CPACK_TRAINYARD_SOURCE ${CMAKE_SOURCE_DIR})
  set(CPACK_TRAINYARD_BUILD ${CMAKE_BINARY_DIR})
  ty_debian_package(program trainyard science "analysis, prediction, training and serving of neural networks
Trainyard describes a neural network once, as a graph with the semantics of
ONNX. It counts parameters, operations and memory, predicts times and costs
on other hardware, trains on one or several machines, quantizes, and serves
networks over HTTP and gRPC.")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS "openmpi-bin, dataset-fashion-mnist")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "trainyard-doc, pocl-opencl-icd")
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/packaging/debian/prerm;${CMAKE_SOURCE_DIR}/packaging/debian/postrm")
  ty_debian_package(development trainyard-dev libdevel "library of Trainyard (development files)
The static libraries and headers for programs that analyze, predict, train
and run neural networks, with find_package(trainyard) for CMake.")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libfmt-dev, libyaml-cpp-dev, libeigen3-dev, libonnx-dev, libprotobuf-dev, libdnnl-dev, \
libopenmpi-dev, libjpeg-dev, libpng-dev, zlib1g-dev, libzstd-dev, libpugixml-dev, coinor-libclp-dev")
  ty_debian_package(documentation trainyard-doc doc "documentation and examples of Trainyard
The guides to every command, the measured results, and programs and
notebooks that use the library.")
  set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
  include(CPack)
endfunction()
