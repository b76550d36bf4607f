package peobj

import (
	"errors"
	"fmt"
)

// Errors of Read. Every error wraps exactly one of them, or an error of the io.ReaderAt.
var (
	ErrNotPE     = errors.New("not a PE file")           // without an MZ and a PE signature
	ErrTruncated = errors.New("truncated PE file")       // a table is past the end of the file
	ErrDamaged   = errors.New("damaged PE file")         // a field contradicts another
	ErrTooLarge  = errors.New("PE file exceeds a limit") // a table is larger than compat reads
)

// Limits in addition to the size of the file. Each is far above the maximum in about 600 DLLs of
// popular wheels.
const (
	maxSections  = 1024    // the loader of Windows XP refused more than 96
	maxSymbols   = 2 << 20 // imports and exports together; torch_cpu.dll has 60 thousand
	maxDLLs      = 4 << 10 // imported DLLs; Qt6WebEngineCore.dll has about 70
	maxName      = 16 << 10
	maxManifest  = 256 << 10
	maxResources = 4096 // entries of the resource directory's first two levels

	// Names may overlap. The length of all names may be textFactor times the size of the file, plus
	// textFree.
	textFactor = 2
	textFree   = 64 << 10
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
