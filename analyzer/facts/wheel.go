package facts

import (
	"path"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/startup"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/analyzer/wheelpolicy"
)

// audit collects what auditwheel and abi3audit check while a wheel is read: every ELF file,
// including those that compat does not check.
type audit struct {
	wheelpolicy.Wheel
	members
	tag     string // tag of the stable ABI, "" if the wheel has none
	minor   int
	symbols []abi3.Symbol
}

func newArtifact(p *unpack.Package) *Artifact {
	a := &Artifact{Path: p.Path, Kind: p.Kind}
	if p.Kind != unpack.KindWheel {
		return a
	}
	a.audit = &audit{
		Wheel: wheelpolicy.Wheel{Objects: map[string]*elfobj.Object{}, Unread: map[string]string{}},
	}
	if tagged(p.Path, platform.TagLinux, platform.TagAny, platform.TagAndroid,
		platform.TagWebAssembly) {
		a.Loads = &startup.Loads{} // of a wheel without a source
	}
	if w, label, err := pkgmeta.ParseVariantName(path.Base(p.Path)); err == nil {
		a.Wheel, a.VariantLabel = &w, label
		for _, t := range w.Tags {
			a.audit.Platforms = append(a.audit.Platforms, t.Platform)
		}
		a.audit.tag, a.audit.minor, _ = abi3.Baseline(w.Tags)
	}
	return a
}

func isRecord(p string) bool {
	dir, file := path.Split(p)
	return file == "RECORD" && strings.HasSuffix(dir, ".dist-info/") && strings.Count(p, "/") == 1
}

func (a *audit) record(path string, p *prepared) {
	switch {
	case a == nil:
	case p.err != nil:
		a.Unread[path] = p.err.Error()
	default:
		a.Record = p.text
	}
}

// object adds an ELF file or the error of reading it.
func (a *audit) object(path string, p *prepared) {
	if a == nil {
		return
	}
	if p.listed {
		a.members.object(path, p)
	}
	if p.unreadable {
		a.Unread[path] = "its section headers are after the end of the file"
		if p.err != nil {
			a.Unread[path] = p.err.Error()
		}
	}
	if p.err != nil {
		return
	}
	a.Objects[path] = p.elf
	if a.tag != "" {
		a.symbols = append(a.symbols, p.symbols...)
	}
}

// lacksMetadata reports whether a wheel has a RECORD and no METADATA.
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

// finish computes the results of auditwheel and abi3audit, and frees the data collected for
// them.
func (f *Artifact) finish(problems []unpack.Problem) {
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
	f.Inside = a.inside()
	if a.tag != "" {
		f.ABI3 = abi3.Audit(a.tag, a.minor, a.symbols)
	}
	f.audit = nil
}
