package elfobj

import (
	"errors"
	"fmt"
)

// What Read can say of a file. Every error wraps exactly one of them, or the error of the
// io.ReaderAt.
var (
	ErrNotELF    = errors.New("not an ELF file") // no magic number; also for an empty file
	ErrTruncated = errors.New(
		"truncated ELF file",
	) // a header, segment or table lies beyond the end of the file
	ErrDamaged = errors.New(
		"damaged ELF file",
	) // a field contradicts another, or names a place where nothing is
	ErrTooLarge = errors.New("ELF file over the limit") // a table is larger than compat reads
)

// Limits that the size of the file alone does not give. Each is far above the largest of 3,200
// objects of Debian 12, and together they keep one object below 300 MB of memory however large its
// file is.
const (
	maxTags = 64 << 10 // entries of PT_DYNAMIC; the largest seen has 45
	// dynamic symbols; node has 75 thousand, the largest libraries of machine learning ten times
	// that
	maxSymbols = 2 << 20
	maxStrings = 128 << 20 // bytes of DT_STRTAB
	maxName    = 64 << 10  // bytes of one string
	// Verneed, Vernaux, Verdef and Verdaux records in all; the largest seen has 163
	maxRecords  = 64 << 10
	maxSections = 64 << 10 // section headers; a linked object has some 40
	maxSecNames = 16 << 20 // bytes of the section name table
	// bytes of PT_INTERP: PATH_MAX, the kernel's own limit (fs/binfmt_elf.c)
	maxInterp  = 4096
	maxNotes   = 1 << 20  // bytes of all PT_NOTE together
	maxComment = 64 << 10 // bytes of .comment
)

// Names may share bytes (a linker merges "bar" into the tail of "foobar"), so a small string table
// can spell a huge amount of text. All strings together may be textFactor times as long as the
// table, plus textFree for objects whose few version names are used by every symbol. Of 3,200
// objects of Debian 12 the most is 3.7 times (libncursesw).
const (
	textFactor = 16
	textFree   = 1 << 20
)

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}

// of says what an error is about.
func of(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

func truncated(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrTruncated, fmt.Sprintf(format, a...))
}

func tooLarge(what string, n, limit uint64) error {
	return fmt.Errorf(
		"%w: %s is %d, more than the %d that compat reads",
		ErrTooLarge,
		what,
		n,
		limit,
	)
}
