# To be sourced by the scripts that build: uses ccache if it is there.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros  # as precompiled headers need
fi
