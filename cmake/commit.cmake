# The commit that a run reports. Written at build time and only when it changed, so that a commit
# rebuilds one file.
add_custom_target(pando_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUT=${CMAKE_BINARY_DIR}/generated/commit.h
          -P ${CMAKE_SOURCE_DIR}/cmake/write_commit.cmake
  BYPRODUCTS ${CMAKE_BINARY_DIR}/generated/commit.h)
