# cmake -DBUILD_DIR= -DBUILD_TYPE= -DCONSUMER_DIR= -DWORK_DIR= -DLAUNCHER=
#       -P package_test.cmake
#
# Installs BUILD_DIR below WORK_DIR, moves the result elsewhere (it must not
# depend on where it was), then configures, builds and runs the consumer.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK_DIR})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/installed)
file(RENAME ${WORK_DIR}/installed ${WORK_DIR}/prefix)
run(${WORK_DIR}/prefix/bin/densenet --help)

run(${CMAKE_COMMAND} -S ${CONSUMER_DIR} -B ${WORK_DIR}/build -G Ninja
    -DCMAKE_BUILD_TYPE=${BUILD_TYPE}
    -DCMAKE_PREFIX_PATH=${WORK_DIR}/prefix
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
run(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
run(${WORK_DIR}/build/consumer)
