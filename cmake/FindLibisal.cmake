# PkgConfig::libisal: CRC-32C and fast inflation.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(libisal QUIET IMPORTED_TARGET libisal)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libisal
  REQUIRED_VARS libisal_LINK_LIBRARIES
  VERSION_VAR libisal_VERSION)
