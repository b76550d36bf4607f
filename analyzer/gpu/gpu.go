// Package gpu reads the graphics processors that a shared object contains code for: CUDA machine
// code (sm_90), PTX, which the driver compiles for newer processors, and AMD code objects (gfx942).
//
// The code is in ELF sections. An object with a stripped section table gives an empty result, not
// an error. Only headers are read, and compressed bundles are decompressed only up to the end of
// their table, so a bundle of 300 MB costs a few kilobytes. Counts and lengths are untrusted and
// bounded (see the constants in cuda.go and hip.go).
//
//	a, err := gpu.Read(o, r, size)   // o is from elfobj.Read for the same r and size
package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/compat-app/compat/analyzer/elfobj"
)

// Archs lists the processors that an object contains code for. Each list is sorted by generation
// and has no duplicates; nil means none.
type Archs struct {
	CUDA []string // machine code for NVIDIA: "sm_80", "sm_90a", "sm_100f"
	PTX  []string // PTX for NVIDIA, for a compute capability: "sm_50", "sm_90a", "sm_100f"
	// machine code for AMD: "gfx90a", "gfx9-generic", or "amdgcnspirv", which the driver compiles
	ROCm []string
}

// ErrDamaged is wrapped by every error other than those of the io.ReaderAt.
var ErrDamaged = errors.New("damaged GPU code")

// Read reads the sections .nv_fatbin, __nv_relfatbin and .hip_fatbin of o from r. If it returns an
// error, the result contains what was read before it.
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

// found collects the names of processors.
type found struct{ cuda, ptx, rocm map[string]bool }

func sorted(set map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(set), Compare)
}

// Compare orders processors by generation: sm_90, sm_90a, sm_100; gfx942 and then gfx1030. A longer
// number is newer.
func Compare(a, b string) int {
	size := func(arch string) int {
		if sm, ok := parseCUDA(arch); ok && sm.only != 0 {
			return len(arch) - 1
		}
		return len(arch)
	}
	return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(a, b))
}

func damaged(format string, a ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, a...))
}

// readAt fills b; a section that ends early is an ErrDamaged.
func readAt(r *io.SectionReader, b []byte, off int64) error {
	if n, err := r.ReadAt(b, off); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			return damaged("a header at byte %d is cut off", off)
		}
		return fmt.Errorf("read at byte %d: %w", off, err)
	}
	return nil
}
