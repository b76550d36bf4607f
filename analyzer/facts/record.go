package facts

import (
	"encoding/base64"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Inside compares the declarations of a wheel about its members with the members.
type Inside struct {
	DistInfo []string // names of its *.dist-info folders, sorted
	// Content of WHEEL; nil if there is none or it could not be read.
	WheelFile   *pkgmeta.Wheel
	WheelError  string // why WHEEL could not be read
	NoRecord    bool   // there is a dist-info folder without RECORD
	RecordError string // why RECORD could not be read completely

	SBOMs []SBOM // sorted by path; at most maxSBOMs
	// VariantFile is variant.json of a variant wheel; nil if there is none.
	VariantFile *VariantFile

	Missing  []string // rows of RECORD without a member, in order; at most maxNames
	Lacks    int      // number of such rows
	Unlisted []string // binaries that RECORD does not list, sorted
	Changed  []string // binaries whose size or digest differs from RECORD, sorted
}

// maxDigest is the maximum size in bytes of an object whose digest is compared; for larger ones
// only the size is. The archive's checksums are always verified, and hashing everything would
// take a fifth of the time of unpacking.
const maxDigest = 4 << 20

// maxNames limits the length of lists of names.
const maxNames = 100

// members collects what inside needs while a wheel is read.
type members struct {
	wheel   []byte               // WHEEL
	listed  map[string]*prepared // binaries
	sboms   []SBOM
	variant *VariantFile
}

// isWheelFile reports whether a member is the WHEEL file.
func isWheelFile(p string) bool {
	dir, file := path.Split(p)
	return file == "WHEEL" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(p, "/") == 1
}

// object adds a binary.
func (m *members) object(path string, p *prepared) {
	if m.listed == nil {
		m.listed = map[string]*prepared{}
	}
	m.listed[path] = &prepared{size: p.size, digest: p.digest}
}

// sbom adds a bill of materials.
func (m *members) sbom(s *SBOM) {
	if len(m.sboms) < maxSBOMs {
		m.sboms = append(m.sboms, *s)
	}
}

// isBinary reports whether a file starts like an ELF or Mach-O file.
func isBinary(head []byte) bool {
	return strings.HasPrefix(string(head), "\x7fELF") || machoobj.Is(head)
}

// digested reports whether a member's digest is compared with RECORD.
func digested(p *unpack.Package, size int64, head []byte) bool {
	return p.Kind == unpack.KindWheel && size >= 0 && size <= maxDigest &&
		(isBinary(head) || isPE(head))
}

// digest returns the hash of a file in the format of RECORD, "" for a large file.
func digest(f *unpack.File) string {
	sum, err := hex.DecodeString(f.SHA256)
	if err != nil || len(sum) == 0 {
		return ""
	}
	return "sha256=" + base64.RawURLEncoding.EncodeToString(sum)
}

// inside compares RECORD and WHEEL with the members.
func (a *audit) inside() *Inside {
	in := &Inside{SBOMs: a.bills(), VariantFile: a.variant}
	have := map[string]bool{}
	for _, m := range a.Members {
		have[m] = true
		if dir, _, ok := strings.Cut(m, "/"); ok && strings.HasSuffix(dir, ".dist-info") &&
			!slices.Contains(in.DistInfo, dir) {
			in.DistInfo = append(in.DistInfo, dir)
		}
	}
	slices.Sort(in.DistInfo)
	if a.wheel != nil {
		var err error
		if in.WheelFile, err = pkgmeta.ParseWheel(a.wheel); err != nil {
			in.WheelError = err.Error()
		}
	}
	if a.Record == nil {
		in.NoRecord = len(in.DistInfo) == 1 && !have[in.DistInfo[0]+"/RECORD"]
		return in
	}
	listed := map[string]bool{} // the listed binaries
	err := pkgmeta.ParseRecord(a.Record, func(r pkgmeta.RecordRow) bool {
		// Some build backends on Windows write its path separator, which pip accepts.
		if !have[r.Path] {
			r.Path = strings.ReplaceAll(r.Path, `\`, "/")
		}
		p := path.Clean(r.Path)
		if !have[p] {
			if in.Lacks++; len(in.Missing) < maxNames {
				in.Missing = append(in.Missing, r.Path)
			}
			return true
		}
		m := a.listed[p]
		if m == nil {
			return true
		}
		listed[p] = true
		if r.Size >= 0 && r.Size != m.size ||
			m.digest != "" && strings.HasPrefix(r.Hash, "sha256=") &&
				strings.TrimRight(r.Hash, "=") != m.digest {
			in.Changed = append(in.Changed, p)
		}
		return true
	})
	if err != nil {
		in.RecordError = err.Error()
	}
	for p := range a.listed {
		if err == nil && !listed[p] {
			in.Unlisted = append(in.Unlisted, p)
		}
	}
	slices.Sort(in.Unlisted)
	slices.Sort(in.Changed)
	in.Changed = slices.Compact(in.Changed)
	return in
}
