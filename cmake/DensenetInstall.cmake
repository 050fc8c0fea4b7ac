# Headers, libraries, the program and the package configuration for
# find_package(densenet): targets densenet::core, ::memory, ::parallel and
# ::densenet.
include(CMakePackageConfigHelpers)

set(densenet_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/densenet)

# Public headers keep their folders below include/densenet, which is what the
# targets put on the include path: consumers write "core/tensor.h" as we do.
# What only our sources include stays home.
foreach(folder IN ITEMS core memory parallel densenet)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/densenet
    FILES_MATCHING PATTERN "*.h"
    REGEX "/core/cuda$" EXCLUDE
    REGEX "/densenet/cli$" EXCLUDE
    REGEX "(_cpu|_cuda|_backends|-inl)\\.h$" EXCLUDE)
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/core/cuda/cuda.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/densenet/core/cuda)

install(TARGETS densenet_core densenet_memory densenet_parallel
                densenet_densenet
  EXPORT densenetTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS densenet_main RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT densenetTargets NAMESPACE densenet::
  DESTINATION ${densenet_package_dir})

configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/densenetConfig.cmake.in
  ${PROJECT_BINARY_DIR}/densenetConfig.cmake
  INSTALL_DESTINATION ${densenet_package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/densenetConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/densenetConfig.cmake
              ${PROJECT_BINARY_DIR}/densenetConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLibxsmm.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLibisal.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindLibzip.cmake
              ${CMAKE_CURRENT_LIST_DIR}/FindMatio.cmake
  DESTINATION ${densenet_package_dir})
