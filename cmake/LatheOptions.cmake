# Flags that every Lathe target is built with.
#
# -ffp-contract=off: a result must not depend on whether the compiler fused a multiply and an add.
# -fno-math-errno -fno-trapping-math: lets nearbyint and friends vectorize; neither changes a value.

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(lathe_options INTERFACE)
target_include_directories(lathe_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(lathe_options INTERFACE
  -Wall -Wextra -ffp-contract=off -fno-math-errno -fno-trapping-math)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlapping copies in std::string's operator+ where there are none (GCC bug 105651).
  target_compile_options(lathe_options INTERFACE -Wno-restrict)
endif()
if(LATHE_WERROR)
  target_compile_options(lathe_options INTERFACE -Werror)
endif()
if(LATHE_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

if(LATHE_FUZZ)
  # Coverage in every library, so that the fuzzer sees where its inputs lead.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()

# lathe_room(NAME SOURCES... USES...): one folder of src/ as a static library. USES lists the rooms
# that docs/architecture.md lets it use; the linker and this list keep the rule.
function(lathe_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;USES" ${ARGN})
  add_library(lathe_${name} STATIC ${ROOM_SOURCES})
  target_link_libraries(lathe_${name} PUBLIC lathe_options)
  foreach(use IN LISTS ROOM_USES)
    target_link_libraries(lathe_${name} PUBLIC ${use})
  endforeach()
endfunction()

# lathe_test(NAME SOURCES... USES...): one GoogleTest binary, registered with ctest test by test.
function(lathe_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;USES" ${ARGN})
  add_executable(test_${name} ${TEST_SOURCES})
  target_link_libraries(test_${name} PRIVATE lathe_options GTest::gtest GTest::gmock GTest::gtest_main)
  foreach(use IN LISTS TEST_USES)
    target_link_libraries(test_${name} PRIVATE ${use})
  endforeach()
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE
    LATHE_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
    LATHE_MODELS="${PROJECT_SOURCE_DIR}/models"
    LATHE_BINARY="${PROJECT_BINARY_DIR}/lathe")
  gtest_discover_tests(test_${name} TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 900)
endfunction()
