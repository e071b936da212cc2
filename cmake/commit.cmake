# The commit that a run reports. Written at build time and only when it changed, so that a commit
# rebuilds one file.
add_custom_target(pando_commit
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUT=${PROJECT_BINARY_DIR}/generated/commit.h
          -P ${PROJECT_SOURCE_DIR}/cmake/write_commit.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/commit.h)
