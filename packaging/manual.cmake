# cmake -DPROGRAM=trainyard -DNOTICES=notices.py -DOUTPUT=folder -P manual.cmake: what the program says of itself, as files to be installed:
# manual pages, completions, and the licenses of what it contains. Run at installation by cmake/ty_install.cmake.
file(REMOVE_RECURSE ${OUTPUT})
file(MAKE_DIRECTORY ${OUTPUT}/man1)
execute_process(COMMAND ${PROGRAM} help --man ${OUTPUT}/man1 COMMAND_ERROR_IS_FATAL ANY)
file(GLOB pages ${OUTPUT}/man1/*.1)
find_program(GZIP gzip REQUIRED)
# Without name and time, so that the same page gives the same file.
execute_process(COMMAND ${GZIP} -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
foreach(completion IN ITEMS bash:trainyard zsh:_trainyard fish:trainyard.fish)
  string(REPLACE ":" ";" completion ${completion})
  list(GET completion 0 shell)
  list(GET completion 1 file)
  file(MAKE_DIRECTORY ${OUTPUT}/${shell})
  execute_process(COMMAND ${PROGRAM} completion ${shell} OUTPUT_FILE ${OUTPUT}/${shell}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
find_program(PYTHON NAMES python3 REQUIRED)
execute_process(COMMAND ${PYTHON} -B ${NOTICES} ${PROGRAM} ${OUTPUT}/THIRD_PARTY_NOTICES COMMAND_ERROR_IS_FATAL ANY)
