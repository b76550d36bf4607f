package packages

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/compat-app/compat/internal/lazyregexp"
)

//go:generate go run github.com/compat-app/compat/internal/gen/history -alone data/standalone.gz

//go:embed data/standalone.gz
var standaloneFile []byte

// standaloneList has a line for each wheel: its file name, the first 32 digits of its SHA-256, and
// "shares" if it has Loadable libraries. A damaged file is a build error, so it panics; a test
// reads it.
var standaloneList = sync.OnceValue(func() string {
	z, err := gzip.NewReader(bytes.NewReader(standaloneFile))
	if err == nil {
		var text []byte
		if text, err = io.ReadAll(z); err == nil {
			return "\n" + string(text)
		}
	}
	panic(fmt.Errorf("embedded list of wheels: %w", err))
})

// StandsAlone reports whether a wheel with this file name and SHA-256 in hex is known to load
// without any other package, on every platform of its tags and on later ones. shares is set if it
// has Loadable libraries. The list was made by internal/gen/history, which checked each wheel.
func (Embedded) StandsAlone(file, sha256 string) (known, shares bool) {
	if strings.ContainsAny(file, " \n") || len(sha256) != 64 {
		return false, false
	}
	_, rest, ok := strings.Cut(standaloneList(), "\n"+file+" ")
	if !ok {
		return false, false
	}
	line, _, _ := strings.Cut(rest, "\n")
	sum, word, _ := strings.Cut(line, " ")
	return len(sum) == 32 && strings.HasPrefix(sha256, sum), word == "shares"
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
