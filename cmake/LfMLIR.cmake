# Finds Debian's MLIR 22 (shared library only) and defines how this project compiles against it.
find_package(MLIR CONFIG QUIET HINTS /usr/lib/llvm-22/lib/cmake/mlir)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR "MLIR 22 is missing: install the packages libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools (tools/setup.sh does)")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "expected LLVM 22, got ${LLVM_VERSION}")
endif()
set(MLIR_LINK_MLIR_DYLIB ON)
if(NOT TARGET MLIR)
  message(FATAL_ERROR "libMLIR.so is missing: install the package libmlir-22-dev")
endif()
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(LF_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")

# One precompiled header for everything that includes MLIR: a clean build takes a third of the time.
file(WRITE ${CMAKE_BINARY_DIR}/lf_pch.cpp "")
add_library(lf_pch OBJECT ${CMAKE_BINARY_DIR}/lf_pch.cpp)
# Passes run for milliseconds: -O1 halves the time to build them and is not felt.
set(LF_MLIR_OPTIMIZATION "$<$<CONFIG:Release>:-O1>")
target_compile_options(lf_pch PRIVATE ${LF_MLIR_OPTIMIZATION})
target_include_directories(lf_pch SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(lf_pch PRIVATE ${LF_LLVM_DEFINITIONS})
target_precompile_headers(lf_pch PRIVATE <mlir/IR/BuiltinOps.h> <mlir/IR/DialectImplementation.h>
  <mlir/IR/OpImplementation.h> <mlir/Pass/Pass.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/PatternMatch.h>)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # ccache needs this to hit with a precompiled header.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

# lf_mlir_compile(TARGET): includes, definitions and the shared precompiled header.
function(lf_mlir_compile target)
  target_include_directories(${target} SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/include)
  # Generated code is not ours to keep free of warnings.
  target_include_directories(${target} SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/include)
  target_compile_definitions(${target} PRIVATE ${LF_LLVM_DEFINITIONS})
  target_compile_options(${target} PRIVATE ${LF_MLIR_OPTIMIZATION})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY") # an executable is compiled with -fPIE, which the shared header does not fit
    target_precompile_headers(${target} REUSE_FROM lf_pch)
  endif()
endfunction()

# lf_mlir_library(NAME sources... [DEPENDS generated...] [LINK libraries...]): one of our libraries that uses MLIR.
function(lf_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  lf_mlir_compile(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
endfunction()
