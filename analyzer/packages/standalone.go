package packages

import (
	_ "embed"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/internal/inflate"
	"github.com/compat-app/compat/internal/lazyregexp"
)

//go:generate go run github.com/compat-app/compat/internal/gen/history -alone data/standalone.gz

//go:embed data/standalone.gz
var standaloneFile []byte

// standaloneList has a line for each wheel, as internal/gen/history writes it:
//
//	FILE DIGEST [shares] [with NAME==VERSION,...]
//	FILE DIGEST release
//
// DIGEST is the first 32 digits of the SHA-256. The lines are sorted.
var standaloneList = sync.OnceValue(func() []string {
	return strings.Split(strings.TrimSuffix(inflate.Embedded(standaloneFile), "\n"), "\n")
})

// Listed is what the embedded history knows of a wheel by its digest.
type Listed struct {
	// Alone means that the wheel was checked and loads on every platform of its tags, and on later
	// ones, without any other package but those in With, of exactly these versions.
	Alone bool
	With  []ID
	// Shares means that it has Loadable libraries. False if it is not Alone.
	Shares bool
}

// Listed looks up a wheel by its file name and SHA-256 in hex. A listed wheel is a file of the
// release that Release returns, if that has one. The list was made by internal/gen/history.
func (Embedded) Listed(file, sha256 string) (Listed, bool) {
	if strings.ContainsAny(file, " \n") || len(sha256) != 64 {
		return Listed{}, false
	}
	list, key := standaloneList(), file+" "
	n, _ := slices.BinarySearch(list, key)
	if n == len(list) || !strings.HasPrefix(list[n], key) {
		return Listed{}, false
	}
	words := strings.Fields(list[n][len(key):])
	if len(words[0]) != 32 || !strings.HasPrefix(sha256, words[0]) {
		return Listed{}, false
	}
	l := Listed{Alone: true}
	for n, word := range words[1:] {
		switch word {
		case "release":
			l.Alone = false
		case "shares":
			l.Shares = true
		case "with":
			for pin := range strings.SplitSeq(words[n+2], ",") {
				name, version, _ := strings.Cut(pin, "==")
				l.With = append(l.With, ID{name, version})
			}
		}
	}
	return l, true
}

// module matches the file name of a Python module, which other packages do not link with, unless it
// begins with "lib".
var module = lazyregexp.New(`\.(cpython-[^/]*|abi3)\.so$`)

// Loadable reports whether other packages may load the file at a path in a wheel: a shared library
// that is neither a Python module nor in a folder of bundled libraries (NAME.libs).
func Loadable(file string) bool {
	dir, name := path.Split(file)
	return strings.Contains(name, ".so") && !strings.HasSuffix(dir, ".libs/") &&
		(!module.MatchString(name) ||
			strings.HasPrefix(name, "lib") && !strings.HasPrefix(name, "lib."))
}

// Loads reports whether other packages may load the file at a path in a wheel on a system: on Linux
// a Loadable one, on others any library that is not in the folder of delvewheel or delocate.
func (t Target) Loads(file string) bool {
	dir, ext := path.Dir(file), path.Ext(file)
	switch t.System {
	case platform.Windows:
		return strings.EqualFold(ext, ".dll") && path.Ext(dir) != ".libs"
	case platform.MacOS:
		return ext == ".dylib" && path.Base(dir) != ".dylibs"
	}
	return Loadable(file)
}
