// Package gpu tells for which graphics processors a shared object carries code: CUDA binaries
// (sm_90), PTX that the driver can translate for newer ones, and AMD code objects (gfx942).
//
// The code lies in sections, which nothing forces to be there: a stripped section table means an
// empty answer, not an error. Only headers are read. A payload is never decompressed further than
// the table at its start, so a 300 MB bundle costs a few kilobytes; counts and lengths come from
// strangers and are bounded (the constants of cuda.go and hip.go).
//
//	a, err := gpu.Read(o, r, size)   // o as elfobj.Read gave it for the same r and size
package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Archs is what one object carries. Each list is sorted by generation and has no doubles; nil means
// none.
type Archs struct {
	CUDA []string // machine code for NVIDIA: "sm_80"
	PTX  []string // intermediate code for NVIDIA, for this generation and every later one: "sm_50"
	// machine code for AMD: "gfx90a", "gfx9-generic", or "amdgcnspirv", which the driver translates
	ROCm []string
}

// ErrDamaged is wrapped by every error that is not one of the io.ReaderAt.
var ErrDamaged = errors.New("damaged GPU code")

// Read reads the sections .nv_fatbin, __nv_relfatbin and .hip_fatbin of o, whose bytes r has. With
// an error it returns what it had found by then, so that a caller can say both.
func Read(o *elfobj.Object, r io.ReaderAt, size int64) (Archs, error) {
	f := found{cuda: map[string]bool{}, ptx: map[string]bool{}, rocm: map[string]bool{}}
	var errs []error
	h := &hip{found: &f}
	defer h.close()
	total := uint64(max(size, 0))
	for _, s := range o.Sections {
		if s.Size > total || s.Offset > total-s.Size {
			continue
		}
		var err error
		switch sec := io.NewSectionReader(r, int64(s.Offset), int64(s.Size)); s.Name {
		case ".nv_fatbin", "__nv_relfatbin":
			err = f.readCUDA(sec)
		case ".hip_fatbin":
			err = h.read(sec)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s at offset %d: %w", s.Name, s.Offset, err))
		}
	}
	return Archs{sorted(f.cuda), sorted(f.ptx), sorted(f.rocm)}, errors.Join(errs...)
}

// found collects names.
type found struct{ cuda, ptx, rocm map[string]bool }

// sorted orders sm_90 before sm_100 and gfx942 before gfx1030: within a vendor, longer numbers are
// newer.
func sorted(set map[string]bool) []string {
	var list []string
	for s := range set {
		list = append(list, s)
	}
	slices.SortFunc(
		list,
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) },
	)
	return list
}

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}

// readAt fills b; a section that ends early is damage.
func readAt(r *io.SectionReader, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			return damaged("a header at byte %d is cut off", off)
		}
		return fmt.Errorf("read at byte %d: %w", off, err)
	}
	return nil
}
