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

// Inside compares what a wheel declares about its members with the members that it has.
type Inside struct {
	DistInfo    []string       // names of its *.dist-info folders, sorted
	WheelFile   *pkgmeta.Wheel // WHEEL; nil where there is none or it could not be read
	WheelError  string         // why WHEEL could not be read
	NoRecord    bool           // there is one dist-info folder, and no RECORD in it
	RecordError string         // why RECORD could not be read to its end

	Missing  []string // rows of RECORD that name no member, in its order; at most maxNames of them
	Lacks    int      // how many there are
	Unlisted []string // binaries that RECORD does not name, sorted
	Changed  []string // binaries of another size or digest than RECORD says, sorted
}

// maxDigest is the size of the largest object whose digest is compared; larger ones are compared by
// size. The archive's own checksums are verified for all, and a digest of everything would cost a
// fifth of the time that unpacking takes.
const maxDigest = 4 << 20

// maxNames bounds the names that are kept of a list that can be long.
const maxNames = 100

// members gathers, while a wheel is read, what finish needs for Inside.
type members struct {
	wheel  []byte               // WHEEL
	listed map[string]*prepared // binaries
}

// isWheelFile reports whether a member is WHEEL.
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

// isBinary reports whether the first bytes are those of a file that compat checks.
func isBinary(head []byte) bool {
	return strings.HasPrefix(string(head), "\x7fELF") || machoobj.Is(head)
}

// digested reports whether a member's digest is compared with RECORD.
func digested(p *unpack.Package, size int64, head []byte) bool {
	return p.Kind == unpack.KindWheel && size >= 0 && size <= maxDigest &&
		(isBinary(head) || isPE(head))
}

// digest is the hash that RECORD should have for a file; "" for a large one.
func digest(f *unpack.File) string {
	sum, err := hex.DecodeString(f.SHA256)
	if err != nil || len(sum) == 0 {
		return ""
	}
	return "sha256=" + base64.RawURLEncoding.EncodeToString(sum)
}

// inside compares RECORD and WHEEL with the members.
func (a *audit) inside() *Inside {
	in := &Inside{}
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
	listed := map[string]bool{} // of the binaries
	err := pkgmeta.ParseRecord(a.Record, func(r pkgmeta.RecordRow) bool {
		if !have[r.Path] { // some build backends on Windows write its separator, which pip accepts
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
