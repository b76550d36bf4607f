package main

import (
	"archive/zip"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/compat-app/compat/analyzer/machoobj"
)

// required matches a requirement of pyobjc on its package for a framework: the name, and the
// release of Darwin from which on it is installed.
var required = regexp.MustCompile(
	`(?m)^Requires-Dist: pyobjc-framework-(\w+)==[^;\n]*; platform_release >= "(\d+)\.(\d+)"\s*$`)

// fewestFrameworks are in the smallest list that makes sense.
const fewestFrameworks = 80

// frameworks writes a line for each framework of pyobjc that is not in every macOS: NAME VERSION.
// Frameworks that pyobjc requires without a release, or up to one, are left out.
func frameworks(wheel string) (string, error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return "", err
	}
	defer z.Close()
	at := slices.IndexFunc(z.File, func(f *zip.File) bool {
		return strings.HasSuffix(f.Name, ".dist-info/METADATA")
	})
	if at < 0 {
		return "", fmt.Errorf("it has no METADATA")
	}
	r, err := z.File[at].Open()
	if err != nil {
		return "", err
	}
	defer r.Close()
	metadata, err := io.ReadAll(r)
	if err != nil {
		return "", err
	}
	var lines []string
	for _, m := range required.FindAllStringSubmatch(string(metadata), -1) {
		major, _ := strconv.Atoi(m[2])
		minor, _ := strconv.Atoi(m[3])
		if v, ok := ofDarwin(major, minor); ok && !strings.HasPrefix(m[1], "lib") {
			lines = append(lines, fmt.Sprintf("%s %v\n", m[1], v))
		}
	}
	if len(lines) < fewestFrameworks {
		return "", fmt.Errorf("it requires %d frameworks from a release on: too few", len(lines))
	}
	slices.Sort(lines)
	return fmt.Sprintf("# the first macOS of frameworks, from %s\n%s",
		filepath.Base(wheel), strings.Join(lines, "")), nil
}

// ofDarwin gives the macOS of a release of Darwin, which pyobjc compares with platform.release().
// Until macOS 10.15 each had a major release of its own; of macOS 11 to 13 the minor number of
// Darwin is one higher; macOS 26 follows 15. Later releases are assumed to go on like that.
func ofDarwin(major, minor int) (machoobj.Version, bool) {
	const bigSur, sonoma, tahoe = 20, 23, 25
	switch {
	case major < bigSur:
		return machoobj.Make(10, major-4), minor == 0
	case major < sonoma:
		return machoobj.Make(major-9, max(minor-1, 0)), true
	case major < tahoe:
		return machoobj.Make(major-9, minor), true
	}
	return machoobj.Make(major+1, minor), true
}
