# To be sourced by the scripts that build: uses ccache if it is there.
#
# Precompiled headers need this. The compiler recognises its precompiled header by its bytes, ccache by its
# preprocessed text, which has no comments unless told. Without them an edited comment brought the old
# precompiled header back, and its headers were then read twice. The namespace hides entries that were cached
# that way.
if command -v ccache >/dev/null; then
  export CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_SLOPPINESS=pch_defines,time_macros
  export CCACHE_COMMENTS=1 CCACHE_NAMESPACE=kiln
fi
