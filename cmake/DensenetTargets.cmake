# densenet_library(NAME DEPS...): one library a folder.
#
# A file's name says when it is built: every .cc below the folder, but
#   *_cuda.cu, *_cuda.cc, cuda/*   only with the CUDA backend,
#   no_cuda.cc (in any folder)     only without it.
function(densenet_library name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
       ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS
       ${CMAKE_CURRENT_SOURCE_DIR}/*.cu
       ${CMAKE_CURRENT_SOURCE_DIR}/*_cuda.cc
       ${CMAKE_CURRENT_SOURCE_DIR}/cuda/*.cc)
  file(GLOB_RECURSE no_cuda_sources CONFIGURE_DEPENDS
       ${CMAKE_CURRENT_SOURCE_DIR}/no_cuda.cc)
  # A program's main() in the library would run in place of the tests'.
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  list(REMOVE_ITEM sources ${cuda_sources} ${no_cuda_sources} "")
  list(REMOVE_ITEM cuda_sources ${no_cuda_sources} "")
  if(DENSENET_WITH_CUDA)
    list(APPEND sources ${cuda_sources})
  else()
    list(APPEND sources ${no_cuda_sources})
  endif()
  add_library(densenet_${name} STATIC ${sources})
  add_library(densenet::${name} ALIAS densenet_${name})
  set_target_properties(densenet_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(densenet_${name} PUBLIC cxx_std_20)
  target_include_directories(densenet_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/densenet>)
  target_link_libraries(densenet_${name}
    PUBLIC ${ARGN} PRIVATE $<BUILD_INTERFACE:densenet_options>)
  if(DENSENET_WITH_CUDA)
    target_link_libraries(densenet_${name} PRIVATE CUDA::cudart)
    densenet_cuda_options(densenet_${name})
  endif()
endfunction()

# densenet_cuda_options(TARGET): how our .cu files are compiled. Device code,
# like host code, fuses a multiply-add only where one is written.
function(densenet_cuda_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false -Werror=all-warnings
      -Xcompiler=-Wall,-Wextra,-Werror,-ffp-contract=off>)
endfunction()
