package machoobj

import (
	"errors"
	"fmt"
)

// Errors of Read and of a slice. Every error wraps exactly one of them, or an error of the reader.
var (
	ErrNotMachO  = errors.New("not a Mach-O file")           // no magic number; also for an empty file
	ErrTruncated = errors.New("truncated Mach-O file")       // a table is past the end of the slice
	ErrDamaged   = errors.New("damaged Mach-O file")         // a field contradicts another
	ErrTooLarge  = errors.New("Mach-O file exceeds a limit") // a table is larger than compat reads
	ErrForeign   = errors.New("Mach-O file not supported")   // PowerPC, static library, …
)

// Limits in addition to the size of the file. Each is far above the maximum in 600 slices of
// published wheels; together they keep the memory for one slice below 300 MB.
const (
	maxSlices   = 44      // of a fat file; with 45 or more it would be a Java class file
	maxCommands = 4 << 20 // bytes of load commands; libtorch_cpu has 5 KB
	maxNeeded   = 4 << 10 // needed libraries; the largest seen has 61
	maxRunPaths = 1 << 10
	maxPath     = 4 << 10   // bytes of a path: PATH_MAX of macOS is 1024
	maxTable    = 128 << 20 // bytes of one table of __LINKEDIT; libtorch_cpu's trie has 18 MB
	maxSymbols  = 1 << 20   // imports or exports; libtorch_cpu exports 100 thousand
	maxName     = 64 << 10  // bytes of one name
	maxText     = 64 << 20  // bytes of all names of a slice's imports
	maxExported = 96 << 20  // bytes of all names of its exports; libtensorflow_cc has 72 MB
	maxBlobs    = 64        // blobs of a code signature; codesign writes up to 8
	maxPages    = 4 << 20   // hashed pages of a code signature: 16 GB of code
)

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}

func truncated(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrTruncated, fmt.Sprintf(format, a...))
}

func tooLarge(what string, n, limit uint64) error {
	return fmt.Errorf("%w: %s is %d, more than the %d that compat reads", ErrTooLarge, what, n, limit)
}
