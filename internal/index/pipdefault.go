package index

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/internal/lazyregexp"
)

// OfPip names the index that the installed pip uses if none is configured, in place of an address.
const OfPip = "pip"

// pipIndex matches the line of pip's source that names its index (pip/_internal/models/index.py).
var pipIndex = lazyregexp.New(`(?m)^PyPI = PackageIndex\(\s*"(https?://[^"\s]+)"`)

// PipDefault returns the address of the index that the installed pip uses if none is configured,
// and the file of pip that has it. They are "" if no pip is found. pip is read, not run: that of
// VIRTUAL_ENV first, then those next to the folders of PATH.
func PipDefault(getenv func(string) (string, bool)) (address, file string) {
	env := func(name string) string { v, _ := getenv(name); return v }
	var prefixes []string
	if venv := env("VIRTUAL_ENV"); venv != "" {
		prefixes = append(prefixes, venv)
	}
	for _, dir := range filepath.SplitList(env("PATH")) {
		if filepath.IsAbs(dir) && filepath.Base(dir) == "bin" {
			prefixes = append(prefixes, filepath.Dir(dir))
		}
	}
	for _, prefix := range prefixes {
		for _, site := range []string{"lib/python3*/site-packages", "lib/python3*/dist-packages"} {
			files, err := filepath.Glob(filepath.Join(escaped(prefix), site,
				"pip/_internal/models/index.py"))
			if err != nil {
				continue
			}
			for _, file := range files {
				data, err := readConfig(file)
				if m := pipIndex.FindStringSubmatch(string(data)); err == nil && m != nil {
					return strings.TrimSuffix(m[1], "/") + "/simple/", file
				}
			}
		}
	}
	return "", ""
}

// escaped returns a path as a pattern of filepath.Glob that matches only it.
func escaped(path string) string {
	if os.PathSeparator == '\\' { // a backslash escapes nothing there
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
