# Runs PROGRAM --scenario SCENARIO on RANKS ranks and checks the exit code and that the output matches every SAYS.
execute_process(COMMAND ${MPIEXEC} -n ${RANKS} ${PROGRAM} --scenario ${SCENARIO}
  RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE output)
message("${output}")
if(NOT code EQUAL CODE)
  message(FATAL_ERROR "expected exit code ${CODE}, got ${code}")
endif()
foreach(text ${SAYS})
  if(NOT output MATCHES "${text}")
    message(FATAL_ERROR "expected the output to match '${text}'")
  endif()
endforeach()
