package lockfile

import (
	"errors"
	"net/url"
	"path"
	"strings"

	"go.yaml.in/yaml/v4"
)

// errConda is returned for a file without pip requirements.
var errConda = errors.New(
	"it pins only conda packages, which compat does not look up; give the pip requirements, or " +
		"install it and run compat env --conda-prefix",
)

// condaPlatform returns conda's name of a system on a machine; "" if conda has none.
func condaPlatform(system, arch string) string {
	switch system + arch {
	case "macosx86_64":
		return "osx-64"
	case "macosarm64":
		return "osx-arm64"
	case "windowsx86":
		return "win-32"
	case "windowsamd64":
		return "win-64"
	case "windowsarm64":
		return "win-arm64"
	case "x86_64":
		return "linux-64"
	case "aarch64":
		return "linux-aarch64"
	case "ppc64le":
		return "linux-ppc64le"
	case "s390x":
		return "linux-s390x"
	case "armv7l":
		return "linux-armv7l"
	case "riscv64":
		return "linux-riscv64"
	}
	return ""
}

// leftOut notes the packages of a conda lock file that are not releases of a package index. It
// returns an error if there are no others.
func (c *chooser) leftOut(local, conda []string) error {
	if len(c.Pins) == 0 {
		return errConda
	}
	c.note(local, notReleases)
	c.note(conda, notConda)
	return nil
}

// addNode adds the pin of a package of a YAML file, with the line of its version and the hash of
// its file.
func (c *chooser) addNode(p *yaml.Node, indexes []string) error {
	pin := Pin{Line: p.Line, Indexes: indexes}
	if v := member(p, "version"); v != nil {
		pin.Line = v.Line
	}
	from := p // pixi
	if h := member(p, "hash"); h != nil {
		from = h // conda-lock
	}
	if h := member(from, "sha256"); h != nil && h.Value != "" {
		pin.Hashes, pin.HashLine = []string{"sha256:" + h.Value}, h.Line
	}
	return c.add(text(p, "name"), text(p, "version"), pin)
}

// condaName returns the package name of a URL that ends with NAME-VERSION-BUILD.conda.
func condaName(address string) string {
	if u, err := url.Parse(address); err == nil {
		address = u.Path
	}
	parts := strings.Split(path.Base(address), "-")
	if len(parts) > 2 {
		parts = parts[:len(parts)-2]
	}
	return strings.Join(parts, "-")
}
