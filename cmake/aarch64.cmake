# Toolchain for 64-bit ARM: Debian's cross compiler, the libraries of a root that tools/aarch64_root makes, and QEMU for what
# the build runs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
cmake_path(SET CMAKE_SYSROOT NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-root)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-L;${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# What pkg-config says is of the root.
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
# Open MPI is found by its compiler wrapper, which would have to run.
set(openmpi ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/openmpi)
set(MPI_CXX_HEADER_DIR ${openmpi}/include)
set(MPI_CXX_LIB_NAMES mpi)
set(MPI_mpi_LIBRARY ${openmpi}/lib/libmpi.so)
# The cross compiler looks for linkers of its own name alone, which mold has none of.
set(TY_MOLD "" CACHE FILEPATH "No mold for this target")
