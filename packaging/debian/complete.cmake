# Run by CPack when the files of all components are in place and before packages are made of them: adds what Debian wants of each package
# (copyright, changelogs) and takes debugging information out of the static libraries.
find_program(PYTHON NAMES python3 REQUIRED)
find_program(GZIP gzip REQUIRED)
set(source ${CPACK_TRAINYARD_SOURCE})
file(READ ${CPACK_TRAINYARD_BUILD}/generated/changelog.Debian changelog)
foreach(component IN ITEMS program development documentation)
  string(TOUPPER ${component} upper)
  set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  set(folder ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr/share/doc/${package})
  file(MAKE_DIRECTORY ${folder})
  # `copyright` says the same.
  file(REMOVE ${folder}/LICENSE ${folder}/THIRD_PARTY_NOTICES ${folder}/CHANGELOG.md)
  if(component STREQUAL "program")
    execute_process(COMMAND ${PYTHON} -B ${source}/packaging/notices.py ${CPACK_TRAINYARD_BUILD}/trainyard ${folder}/copyright --debian --strict
      COMMAND_ERROR_IS_FATAL ANY)
  else()
    file(COPY_FILE ${source}/packaging/debian/copyright ${folder}/copyright)
  endif()
  string(REPLACE "%package%" ${package} text "${changelog}")
  file(WRITE ${folder}/changelog.Debian "${text}")
  file(COPY_FILE ${source}/CHANGELOG.md ${folder}/changelog)
  execute_process(COMMAND ${GZIP} -9nf ${folder}/changelog.Debian ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB_RECURSE archives ${CPACK_TEMPORARY_DIRECTORY}/development/*.a)
execute_process(COMMAND strip --strip-debug --remove-section=.comment --remove-section=.note --enable-deterministic-archives ${archives}
  COMMAND_ERROR_IS_FATAL ANY)
