// Package apply applies fixes to the bytes of a wheel, or of a single library or program. What was
// simulated (fix.Change, fix.Retags) and what is written come from one value, so they cannot
// differ.
//
//	w, err := apply.To(apply.Artifact{Path: path, Content: f, Size: size}, fixes, apply.Options{})
//	_, err = io.Copy(out, w.Reader())
//
// It edits the dynamic section and the program headers of ELF files, the load commands and the
// signature of Mach-O files, the tags of WHEEL, the requirements of METADATA, and RECORD. All other
// members keep their compressed bytes, times, permissions and order, so that the same fixes give
// the same bytes. It opens and writes no files: a Result refers to the content of the wheel and has
// only the changed members in memory.
//
// A wheel is untrusted. The names of its members are compared, but never used as a path. A wheel
// whose members overlap, have a name twice, lead out of the folder or are encrypted is refused, as
// is one with a changed member of more than 2 GiB. The caller checks the result again before it
// uses it.
package apply

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/fix"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/platform"
)

// Artifact is a wheel, or a single library or program, to which fixes are applied. Content must
// stay readable as long as the Result is used.
type Artifact struct {
	Path    string // of the artifact, with slashes
	Content io.ReaderAt
	Size    int64
}

// Options are how a wheel is written.
type Options struct {
	// Record compares RECORD with all members, which have to be read for that. Otherwise only the
	// rows of changed members are written again, unless a fix is about RECORD.
	Record bool
	// Largest is the largest member that is changed, in bytes without compression; 0 = 2 GiB. It has
	// to be compressed again, which takes seconds for 100 MB.
	Largest int64
	// Store does not compress changed members, for a result that is only checked.
	Store bool
}

// ErrLarge is the reason why a fix was not applied that changes a member above Options.Largest.
var ErrLarge = errors.New("is larger than what is changed here")

// ErrRefused is the reason why a fix cannot be applied to a wheel.
var ErrRefused = errors.New("cannot be changed")

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// isWheel reports whether a path is that of a wheel. All other artifacts are single files.
func isWheel(artifact string) bool { return strings.HasSuffix(artifact, ".whl") }

// Can reports whether a fix can be applied to the bytes of an artifact, which is a wheel or a
// single file.
func Can(x fix.Fix, artifact string) bool {
	if x.Change == nil && x.Retags == nil {
		return false
	}
	s := scenario(artifact, x)
	if !isWheel(artifact) && (s.Retagged || s.Recorded || s.Tags ||
		len(s.Renamed)+len(s.Requires) > 0) {
		return false
	}
	retag := retagging(x, artifact)
	if s.Retagged && (retag == nil || retag.To == pkgmeta.Tag{}) {
		return false
	}
	elsewhere := len(s.With) + len(s.Symver) + len(s.ImportedLater) + len(s.RemovedFolders) +
		len(s.DLLFolders) + len(s.Bundled)
	return s.Plain() && elsewhere == 0 && (retag != nil || changes(s))
}

// changes reports whether a scenario changes something that is in a wheel.
func changes(s fix.Scenario) bool {
	n := len(s.Needed) + len(s.Dropped) + len(s.RunPath) + len(s.Paths) + len(s.Renamed) +
		len(s.Interp) + len(s.NoStack) + len(s.Signed) + len(s.Requires)
	return n > 0 || s.Recorded || s.Tags
}

// scenario returns what fixes change in an artifact together.
func scenario(artifact string, fixes ...fix.Fix) (s fix.Scenario) {
	for _, x := range fixes {
		s = fix.Of(x.Change, artifact).Apply(s)
	}
	return s
}

// retagging returns how a fix changes the tags of an artifact, or nil.
func retagging(x fix.Fix, artifact string) *fix.Retagging {
	for i, r := range x.Retags {
		if r.Wheel.Path == artifact || r.Wheel.Path == "" && r.Wheel.File == path.Base(artifact) {
			return &x.Retags[i]
		}
	}
	return nil
}

// To applies fixes to an artifact, all at once. The error is ErrRefused or that of the content. The
// fixes must be such that Can.
func To(w Artifact, fixes []fix.Fix, o Options) (*Result, error) {
	if !isWheel(w.Path) {
		return single(w, fixes)
	}
	z, err := open(w)
	if err != nil {
		return nil, err
	}
	z.largest, z.store = uint64(o.Largest), o.Store
	s := scenario(w.Path, fixes...)
	var tags *fix.Retagging
	for _, x := range fixes {
		tags = merge(tags, retagging(x, w.Path))
	}
	file := path.Base(w.Path)
	if err := z.edit(s); err != nil {
		return nil, err
	}
	if len(s.Requires) > 0 {
		if err := z.change(z.info+"/METADATA", func(old []byte) ([]byte, error) {
			return require(old, s.Requires)
		}); err != nil {
			return nil, err
		}
	}
	if tags != nil {
		if (tags.To != pkgmeta.Tag{}) {
			file = tags.File()
		}
		if err := z.change(z.info+"/WHEEL", func(old []byte) ([]byte, error) {
			return writeTags(old, tags.NewTags()), nil
		}); err != nil {
			return nil, err
		}
	}
	if err := z.record(o.Record || s.Recorded); err != nil {
		return nil, err
	}
	return z.result(file)
}

// Check returns why a wheel cannot be changed; nil if it can.
func Check(w Artifact) error {
	_, err := open(w)
	return err
}

// merge combines two changes of a wheel's tags, which may be nil. Of two platforms the newer one is
// kept, and for macOS the architecture that has fewer slices.
func merge(first, then *fix.Retagging) *fix.Retagging {
	if first == nil || then == nil {
		return cmp.Or(first, then)
	}
	old, both := first.To, *then
	newer := newerPlatform(old.Platform, both.To.Platform)
	both.To = pkgmeta.Tag{
		Python: cmp.Or(both.To.Python, old.Python), ABI: cmp.Or(both.To.ABI, old.ABI),
		Platform: cmp.Or(newer, both.To.Platform, old.Platform),
	}
	return &both
}

// newerPlatform returns the platform tag that fulfills what two tags require; "" if one is empty,
// or if they are for different systems.
func newerPlatform(a, b string) string {
	x, y := platform.ParseTag(a), platform.ParseTag(b)
	if a == "" || b == "" || x.System != y.System || x.Libc != y.Libc {
		return ""
	}
	if y.Ordinal() > x.Ordinal() {
		a, x, y = b, y, x
	}
	const universal = "universal2"
	version, ok := strings.CutSuffix(a, universal)
	if ok && x.Arch == universal && y.Arch != universal {
		return version + y.Arch
	}
	return a
}

// edit changes and renames the binaries.
func (z *archive) edit(s fix.Scenario) error {
	touched := slices.Collect(maps.Keys(s.RunPath))
	touched = slices.AppendSeq(touched, maps.Keys(s.Interp))
	touched = slices.AppendSeq(touched, maps.Keys(s.Needed))
	touched = slices.AppendSeq(touched, maps.Keys(s.Dropped))
	touched = slices.AppendSeq(touched, maps.Keys(s.NoStack))
	touched = slices.AppendSeq(touched, maps.Keys(s.Signed))
	touched = slices.AppendSeq(touched, maps.Keys(s.Paths))
	slices.Sort(touched)
	for _, object := range slices.Compact(touched) {
		if z.byName[object] == nil {
			continue // it is in another wheel with the same cause
		}
		err := z.change(object, func(old []byte) ([]byte, error) { return edited(s, object, old) })
		if err != nil {
			return err
		}
	}
	for _, from := range slices.Sorted(maps.Keys(s.Renamed)) {
		if z.byName[from] == nil {
			continue
		}
		if err := z.rename(from, s.Renamed[from]); err != nil {
			return err
		}
	}
	return nil
}

// edited applies the changes of a scenario to a binary.
func edited(s fix.Scenario, object string, old []byte) ([]byte, error) {
	if machoobj.Is(old) {
		return machEdit(s, object).Apply(old)
	}
	return elfEdit(s, object).Apply(old)
}

// single applies fixes to a single file.
func single(w Artifact, fixes []fix.Fix) (*Result, error) {
	if w.Size > maxMember {
		return nil, refuse("it has %d bytes", w.Size)
	}
	file := path.Base(w.Path) // also the path of the object in the artifact
	s := scenario(w.Path, fixes...)
	old := make([]byte, w.Size)
	if _, err := w.Content.ReadAt(old, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	out, err := edited(s, file, old)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	r := &Result{File: file}
	r.add(out)
	return r, nil
}

func machEdit(s fix.Scenario, object string) machoobj.Edit {
	return machoobj.Edit{Change: s.Paths[object], Sign: s.Signed[object],
		RunPaths: fix.Folders(s.RunPath[object])}
}

// elfEdit returns the edit of an ELF file. An entry with a path that is removed where one with its
// name is added is replaced, so that the symbol versions of the library follow.
func elfEdit(s fix.Scenario, object string) elfobj.Edit {
	e := elfobj.Edit{RunPath: s.RunPath[object], Interp: s.Interp[object],
		NoExecStack: s.NoStack[object], Replace: map[string]string{}}
	e.Add = slices.Clone(s.Needed[object])
	for _, d := range s.Dropped[object] {
		if i := slices.Index(e.Add, path.Base(d)); i >= 0 && d != path.Base(d) {
			e.Replace[d] = path.Base(d)
			e.Add = slices.Delete(e.Add, i, i+1)
			continue
		}
		e.Remove = append(e.Remove, d)
	}
	return e
}
