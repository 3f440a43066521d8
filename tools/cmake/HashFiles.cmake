# cmake "-DFILES=a;b" -DNAME=MACRO -DOUT=header -P HashFiles.cmake: a header with a hash of the files' contents.
set(all "")
foreach(file IN LISTS FILES)
  file(SHA256 "${file}" hash)
  string(APPEND all "${hash}")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING "${hash}" 0 16 hash)
file(WRITE "${OUT}" "#pragma once\n#define ${NAME} \"${hash}\"\n")
