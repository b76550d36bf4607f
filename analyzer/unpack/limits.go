package unpack

import (
	"errors"
	"fmt"
)

// Limits are the limits of one Walk, including nested archives. A zero field means its default;
// there is no "unlimited".
type Limits struct {
	// Entries limits the members of all archives together. Default 500,000: the largest
	// environments that people upload have about 200,000 files, and half a million names need about
	// 100 MB.
	Entries int
	// Bytes limits the inflated bytes of all files. Default 32 GiB: six CUDA wheels of 0.9 GB in
	// one artifact inflate to about 20 GB, and inflating 32 GiB takes about 90 seconds.
	Bytes int64
	// FileBytes limits the inflated bytes of one file. Default 4 GiB: on x86-64 and AArch64, a
	// larger shared object would need the large code model, and the largest wheels are smaller too.
	FileBytes int64
	// Ratio limits the inflated bytes per compressed byte of a file, from 32 MiB on. Default 250:
	// shared objects inflate 2 to 10 times, fat GPU binaries up to 30; the maximum of deflate is
	// 1032.
	Ratio int64
	// Depth limits nested archives. Default 4: a zip with a tar.gz with a wheel needs 2.
	Depth int
}

const (
	// small files of zeros are harmless: reading this much takes 0.1 s
	ratioFloor = 32 << 20
	// bytes of a zip's central directory: 500,000 entries with names of 80 bytes
	maxDirectory = 64 << 20
	maxName      = 4096 // PATH_MAX: longer names cannot be installed
	// an archive can contain half a million invalid members
	maxProblems     = 200
	maxDuplicates   = 100
	headSize        = 64
	copyBufferBytes = 64 << 10
)

func (l Limits) withDefaults() Limits {
	if l.Entries <= 0 {
		l.Entries = 500_000
	}
	if l.Bytes <= 0 {
		l.Bytes = 32 << 30
	}
	if l.FileBytes <= 0 {
		l.FileBytes = 4 << 30
	}
	if l.Ratio <= 0 {
		l.Ratio = 250
	}
	if l.Depth <= 0 {
		l.Depth = 4
	}
	return l
}

// errStop ends the walk without an error: a limit of the whole walk was reached, and a Problem
// reports it.
var errStop = errors.New("a limit was reached")

// budget is what remains of the limits for the whole walk.
type budget struct {
	limits  Limits
	entries int
	bytes   int64
}

// meter counts the inflated bytes of one file.
type meter struct {
	limits Limits
	left   *int64 // remaining inflated bytes for the whole walk
	packed *int64 // compressed bytes read so far; nil if there is no limit of the ratio
	whole  bool   // for an archive, which may be larger than one file
	got    int64
}

// limitError names the limit that was reached. If all is set, it is a limit of the whole walk.
type limitError struct {
	text string
	all  bool
}

func (e *limitError) Error() string { return e.text }

// add counts n inflated bytes.
func (m *meter) add(n int) error {
	m.got += int64(n)
	*m.left -= int64(n)
	l := m.limits
	switch {
	case m.got > l.FileBytes && !m.whole:
		return &limitError{
			text: fmt.Sprintf("it inflates to more than the limit of %s for one file", human(l.FileBytes)),
		}
	case m.packed != nil && m.got > ratioFloor && m.got/max(*m.packed, 1) >= l.Ratio:
		return &limitError{
			text: fmt.Sprintf(
				"it inflates to more than %d times its compressed size, the limit on the compression ratio "+
					"(stopped after %s)",
				l.Ratio,
				human(m.got),
			),
		}
	case *m.left < 0:
		return l.inAll()
	}
	return nil
}

func (l Limits) inAll() error {
	return &limitError{
		text: fmt.Sprintf(
			"the limit of %s of inflated content is reached; the rest was not read",
			human(l.Bytes),
		),
		all: true,
	}
}

// human formats a size in the largest unit in which it is at least one: "4 GiB", "1.5 MiB".
func human(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	f, i := float64(n), 0
	for f >= 1024 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if f == float64(int64(f)) {
		return fmt.Sprintf("%d %s", int64(f), units[i])
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
