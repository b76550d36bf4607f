package analyzer

import (
	"io"
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// audit is what auditwheel and abi3audit look at in a wheel, gathered while it is read: every ELF file, also those that compat itself does not judge.
type audit struct {
	wheelpolicy.Wheel
	tag     string // of the stable ABI, "" where the wheel has none
	minor   int
	symbols []abi3.Symbol
}

func newFacts(p *unpack.Package) *Facts {
	f := &Facts{Path: p.Path, Kind: p.Kind}
	if p.Kind != unpack.KindWheel {
		return f
	}
	f.audit = &audit{Wheel: wheelpolicy.Wheel{Objects: map[string]*elfobj.Object{}, Unread: map[string]string{}}}
	if w, err := pkgmeta.ParseWheelName(path.Base(p.Path)); err == nil {
		f.Wheel = &w
		for _, t := range w.Tags {
			f.audit.Platforms = append(f.audit.Platforms, t.Platform)
		}
		f.audit.tag, f.audit.minor, _ = abi3.Baseline(w.Tags)
	}
	return f
}

// maxRecord bounds RECORD: the longest on the public index have some 20,000 rows, 3 MB.
const maxRecord = 64 << 20

func isRecord(p string) bool {
	dir, file := path.Split(p)
	return file == "RECORD" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(p, "/") == 1
}

func (a *audit) record(f *unpack.File) {
	if f.Size > maxRecord {
		a.Unread[f.Path] = "RECORD is too long"
		return
	}
	b, err := io.ReadAll(io.NewSectionReader(f.Content, 0, f.Size))
	if err != nil {
		a.Unread[f.Path] = err.Error()
		return
	}
	a.Record = b
}

// object takes in an ELF file as elfobj read it, or the error.
func (a *audit) object(f *unpack.File, o *elfobj.Object, err error) {
	if a == nil {
		return
	}
	head := make([]byte, wheelpolicy.HeaderSize)
	n, _ := f.Content.ReadAt(head, 0)
	if wheelpolicy.Unreadable(head[:n], f.Size, err != nil) {
		a.Unread[f.Path] = "its section headers lie behind the end of the file"
		if err != nil {
			a.Unread[f.Path] = err.Error()
		}
	}
	if err != nil {
		return
	}
	a.Objects[f.Path] = o
	if a.tag == "" || !strings.HasSuffix(f.Path, ".so") {
		return
	}
	static, err := elfobj.StaticSymbols(f.Content, f.Size, abi3.Prefixes...)
	if err == nil { // .symtab only adds what the loader never looks at
		a.symbols = append(a.symbols, abi3.Of(o, static)...)
	} else {
		a.symbols = append(a.symbols, abi3.Of(o, nil)...)
	}
}

// lacksMetadata tells whether a wheel says something of itself, and not what it requires.
func (a *audit) lacksMetadata() bool {
	if a == nil {
		return false
	}
	info := false
	for _, m := range a.Members {
		if isMetadata(m) {
			return false
		}
		info = info || isRecord(m)
	}
	return info
}

// finish gives the verdicts, and forgets what they were made of.
func (f *Facts) finish(problems []unpack.Problem) {
	a := f.audit
	if a == nil || f.Wheel == nil {
		return
	}
	for _, p := range problems {
		if inside, ok := strings.CutPrefix(p.Path, f.Path+"/"); ok {
			a.Unread[inside] = p.Reason
		} else if p.Path == f.Path {
			a.Damaged = p.Reason
		}
	}
	f.Policy = wheelpolicy.Judge(&a.Wheel)
	if a.tag != "" {
		f.ABI3 = abi3.Audit(a.tag, a.minor, a.symbols)
	}
	f.audit = nil
}
