// Package startpages removes the pages of the program file from the resident memory of this
// process, on Linux. Most of those that are resident at the start are for the initialization of
// packages: it touches code all over the program once, and the kernel maps 64 KiB around each
// access. A page that is used again is mapped again from the page cache.
//
// Only segments that are not writable are released. The others, also those that become read-only
// after relocation (GNU_RELRO), have contents that are not in the file. See gABI, "Program
// Header", and madvise(2), MADV_DONTNEED.
package startpages
