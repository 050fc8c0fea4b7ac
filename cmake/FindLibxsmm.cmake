# PkgConfig::libxsmm: small matrix products compiled at run time.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(libxsmm QUIET IMPORTED_TARGET libxsmm)
endif()
# Its BLAS references are never called: the no-BLAS archive satisfies them, and
# must follow it.
find_library(XSMM_NOBLAS_LIBRARY xsmmnoblas)
mark_as_advanced(XSMM_NOBLAS_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Libxsmm
  REQUIRED_VARS libxsmm_LINK_LIBRARIES XSMM_NOBLAS_LIBRARY
  VERSION_VAR libxsmm_VERSION)
if(Libxsmm_FOUND)
  set_property(TARGET PkgConfig::libxsmm PROPERTY INTERFACE_LINK_LIBRARIES
               ${libxsmm_LINK_LIBRARIES} ${XSMM_NOBLAS_LIBRARY})
endif()
