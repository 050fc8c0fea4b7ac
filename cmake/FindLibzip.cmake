# PkgConfig::libzip: zip files. Debian's CMake package of it also wants the
# programs zipcmp, zipmerge and ziptool, which nobody here needs.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(libzip QUIET IMPORTED_TARGET libzip)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libzip
  REQUIRED_VARS libzip_LINK_LIBRARIES
  VERSION_VAR libzip_VERSION)
