cmake_minimum_required(VERSION 3.25)
# cmake -DSOURCE=src -DROOTS="a.h;b.h" -DDESTINATION=include/trainyard -P install_headers.cmake
#
# Installs the public headers and those that they include, and nothing else. Inside the project a header is named by its
# folder ("tensor/shape.h"); outside that could be anybody's, so the installed copies say <trainyard/tensor/shape.h>.
file(REMOVE_RECURSE ${DESTINATION})
set(waiting ${ROOTS})
set(installed "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST installed)
    continue()
  endif()
  list(APPEND installed ${header})
  file(READ ${SOURCE}/${header} text)
  string(REGEX MATCHALL "#include \"[^\"]+\"" includes "${text}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "#include \"(.+)\"" "\\1" included "${include}")
    list(APPEND waiting ${included})
  endforeach()
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <trainyard/\\1>" text "${text}")
  file(WRITE ${DESTINATION}/${header} "${text}")
endwhile()
