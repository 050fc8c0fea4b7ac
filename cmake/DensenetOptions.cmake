# Language level, warnings, sanitizers: what every target of ours is built with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Our code only: dependencies are included as system headers.
add_library(densenet_options INTERFACE)
add_library(densenet::options ALIAS densenet_options)
target_compile_options(densenet_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Werror -Wshadow -Wvla
    -Wnon-virtual-dtor -Woverloaded-virtual>
  # One arithmetic everywhere: a fused multiply-add is written, never guessed.
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>)

if(DENSENET_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "DENSENET_FUZZERS=ON needs Clang (libFuzzer comes with "
      "it), not ${CMAKE_CXX_COMPILER_ID}: use the fuzz preset")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()

if(DENSENET_SANITIZE)
  add_compile_options(-fsanitize=${DENSENET_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all -O1 -g1)
  add_link_options(-fsanitize=${DENSENET_SANITIZE})
endif()
