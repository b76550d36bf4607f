#!/bin/sh
# Builds the libraries of this folder: the same source with the debug information of other
# compilers, versions and tools. Needs gcc, g++, clang, dwz and objcopy.
set -eu
cd "$(dirname "$0")"
link="-shared -nostdlib -fPIC -O1 -Wl,--build-id=none -Wl,-z,max-page-size=4096 -fdebug-prefix-map=$PWD=/src"
c() { out=$1; shift; "$@" $link -Wl,-soname,libshapes.so.1 -o "c-$out.so" shapes.c; }
cxx() { out=$1; shift; "$@" $link -Wl,-soname,libshapes++.so.1 -Wl,--unresolved-symbols=ignore-all -o "cxx-$out.so" shapes.cc; }
c 5 gcc -g -gdwarf-5
c 4 gcc -g -gdwarf-4
c 2 gcc -g -gdwarf-2 -gstrict-dwarf
c 64 gcc -g -gdwarf-5 -gdwarf64
c clang clang -g -gdwarf-5
c O0 gcc -g -O0
c lto gcc -g -flto
c dwz gcc -g && dwz c-dwz.so
c zlib gcc -g && objcopy --compress-debug-sections=zlib-gabi c-zlib.so
c zdebug gcc -g && objcopy --compress-debug-sections=zlib-gnu c-zdebug.so
cxx 5 g++ -g -gdwarf-5
cxx 3 g++ -g -gdwarf-3
cxx types g++ -g -gdwarf-5 -fdebug-types-section
cxx types4 g++ -g -gdwarf-4 -fdebug-types-section
cxx clang clang++ -g -gdwarf-5 -fstandalone-debug
cxx O0 g++ -g -O0
