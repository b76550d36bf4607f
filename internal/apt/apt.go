// Package apt downloads packages of any release of Debian and Ubuntu for the generators of
// embedded data. It uses the mirror from this machine's apt configuration and a private state
// directory, so it needs no root and does not change the machine's apt.
package apt

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Suite is a release of a distribution on the mirror.
type Suite struct {
	Mirror   string // directory on the mirror: "debian", "ubuntu"
	Codename string // "bookworm"
	Updates  bool   // include CODENAME-updates
	Universe bool   // include Ubuntu's universe component
}

// Index is the list of packages of one suite and architecture ("amd64"), with the packages that
// were downloaded from it.
type Index struct {
	dir string
	env []string
	// files are the addresses of the lists of files of its packages.
	files []string
}

// Open returns the index of a suite, which it downloads into the cache directory unless it is there
// already.
func Open(ctx context.Context, cache string, s Suite, arch string) (*Index, error) {
	state := filepath.Join(cache, s.Codename+"-"+arch)
	if s.Universe {
		state += "-universe"
	}
	conf, err := privateApt(state, s, arch)
	if err != nil {
		return nil, err
	}
	x := &Index{dir: state, env: append(os.Environ(), "APT_CONFIG="+conf, "LC_ALL=C")}
	if x.files, err = s.contents(arch); err != nil {
		return nil, err
	}
	done := filepath.Join(state, "updated")
	if _, err := os.Stat(done); err != nil {
		if _, err := x.run(ctx, "apt-get", "update", "-qq"); err != nil {
			return nil, err
		}
		if err := os.WriteFile(done, nil, 0o644); err != nil {
			return nil, err
		}
	}
	return x, nil
}

var (
	// minbase matches the name of a package, and what makes it part of every system.
	minbase = regexp.MustCompile(
		`(?m)^(?:Package: (\S+)|(Essential: yes|Priority: required))[ \t]*$`)
	// installing matches the name of a package that a simulation of apt-get installs.
	installing = regexp.MustCompile(`(?m)^Inst (\S+) `)
)

// Base returns the names of the packages that debootstrap --variant=minbase --include=INCLUDE
// installs, sorted: those that are essential or required, apt, and what they depend on.
func (x *Index) Base(ctx context.Context, include ...string) ([]string, error) {
	available, err := x.run(ctx, "apt-cache", "dumpavail")
	if err != nil {
		return nil, err
	}
	want, name, merges := append([]string{"apt"}, include...), "", false
	for _, m := range minbase.FindAllStringSubmatch(available, -1) {
		if m[1] != "" {
			name = m[1]
			merges = merges || name == "usrmerge"
		} else if !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	if merges && !slices.Contains(want, "usrmerge") {
		want = append(want, "usrmerge-") // debootstrap makes a merged /usr itself
	}
	said, err := x.run(ctx, "apt-get",
		append([]string{"install", "-s", "-qq", "--no-install-recommends"}, want...)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range installing.FindAllStringSubmatch(said, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Contents calls visit for each file of the suite's packages that matches, with its path and the
// names of the packages that contain it. The lists of files are downloaded. Some mirrors have lists
// of another day than the index, which apt refuses; those are taken as they are. Few packages for
// all architectures have libraries, so it is no error if the mirror has no list of those.
func (x *Index) Contents(
	ctx context.Context,
	match *regexp.Regexp,
	visit func(path string, packages []string),
) error {
	const enabled = "Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled=true"
	var lists []string
	_, refused := x.run(ctx, "apt-get", "update", "-qq", "-o", enabled)
	if refused == nil {
		files, err := x.run(ctx, "apt-get", "indextargets", "-o", enabled, "--format", "$(FILENAME)",
			"Created-By: Contents-deb")
		if err != nil {
			return err
		}
		lists = strings.Fields(files)
	} else {
		for i, address := range x.files {
			to := filepath.Join(x.dir, fmt.Sprintf("contents-%d.gz", i))
			_, err := x.run(ctx, "/usr/lib/apt/apt-helper", "download-file", address, to)
			switch {
			case err == nil:
				lists = append(lists, to)
			case i == 0:
				return errors.Join(refused, err)
			}
		}
	}
	for _, file := range lists {
		text, err := x.run(ctx, "/usr/lib/apt/apt-helper", "cat-file", file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if len(words) < 2 || !match.MatchString(words[0]) {
				continue
			}
			packages := strings.Split(words[len(words)-1], ",")
			for i, p := range packages {
				packages[i] = p[strings.LastIndexByte(p, '/')+1:]
			}
			visit(words[0], packages)
		}
	}
	return nil
}

// contents returns the addresses of the lists of files of a suite's packages: of those for an
// architecture, and of those for all.
func (s Suite) contents(arch string) (out []string, err error) {
	address, err := s.address()
	for _, a := range []string{arch, "all"} {
		out = append(out, fmt.Sprintf("%s/dists/%s/main/Contents-%s.gz", address, s.Codename, a))
	}
	return out, err
}

// address returns the address of the distribution on the mirror.
func (s Suite) address() (string, error) {
	address, err := Mirror()
	return strings.TrimSuffix(strings.TrimSuffix(address, "/"), "debian") + s.Mirror, err
}

// Relations calls visit for each relation of a package to others (Depends, Pre-Depends, Provides),
// as in its control file.
func (x *Index) Relations(ctx context.Context, visit func(name, field, value string)) error {
	text, err := x.run(ctx, "apt-cache", "dumpavail")
	if err != nil {
		return err
	}
	name := ""
	for line := range strings.Lines(text) {
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "Package":
			name = value
		case "Depends", "Pre-Depends", "Provides":
			visit(name, field, value)
		}
	}
	return nil
}

// Fetch downloads packages, unless they are in the cache. It returns the paths of the .deb files by
// package name, without the names that the suite does not have, and without those whose file the
// mirror does not have. It is an error if the mirror has none.
func (x *Index) Fetch(ctx context.Context, want []string) (map[string]string, error) {
	known, err := x.run(ctx, "apt-cache", "pkgnames")
	if err != nil {
		return nil, err
	}
	lines := strings.Fields(known)
	slices.Sort(lines)
	got := map[string]string{}
	var missing []string
	for _, name := range want {
		if _, ok := slices.BinarySearch(lines, name); !ok {
			continue
		}
		if got[name] = downloaded(x.dir, name); got[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		_, err := x.run(ctx, "apt-get", append([]string{"download", "-qq"}, missing...)...)
		for _, name := range missing {
			if got[name] = downloaded(x.dir, name); got[name] == "" {
				delete(got, name) // a virtual package has no file
			}
		}
		if err != nil && len(got) == 0 {
			return nil, err
		}
	}
	return got, nil
}

func downloaded(dir, name string) string {
	found, _ := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
}

// debianURI matches the addresses of Debian mirrors in both formats of apt sources. It does not
// match security mirrors, so that the result is the same until the next point release.
var debianURI = regexp.MustCompile(`(?m)^(?:URIs:|deb)[^#\n]*?\s(\S+/debian/?)(?:\s|$)`)

// Mirror returns the address of the Debian mirror in this machine's apt sources. Other
// distributions are expected in sibling directories, as on general mirrors.
func Mirror() (string, error) {
	for _, pattern := range []string{"/etc/apt/sources.list.d/*.sources", "/etc/apt/sources.list",
		"/etc/apt/sources.list.d/*.list"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			text, err := os.ReadFile(f)
			if m := debianURI.FindSubmatch(text); err == nil && m != nil {
				return string(m[1]), nil
			}
		}
	}
	return "", fmt.Errorf(
		"no Debian mirror in this machine's apt sources: add one, or run this on a Debian system",
	)
}

// privateApt writes an apt configuration that keeps all state in dir, and returns its path.
func privateApt(dir string, s Suite, arch string) (conf string, err error) {
	address, err := s.address()
	if err != nil {
		return "", err
	}
	for _, d := range []string{"lists/partial", "cache/archives/partial", "etc/preferences.d",
		"etc/apt.conf.d"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	options := "arch=" + arch
	if key := "/usr/share/keyrings/" + s.Mirror + "-archive-keyring.gpg"; exists(key) {
		options += " signed-by=" + key
	} else {
		// signatures are not needed: a test compares the tables with the libraries
		options += " trusted=yes"
	}
	components := "main"
	if s.Universe {
		components += " universe"
	}
	lines := fmt.Sprintf("deb [%s] %s %s %s\n", options, address, s.Codename, components)
	if s.Updates {
		lines += fmt.Sprintf("deb [%s] %s %s-updates %s\n", options, address, s.Codename, components)
	}
	files := map[string]string{
		"status":           "",
		"etc/sources.list": lines,
		"apt.conf": fmt.Sprintf(
			`APT::Architecture "%[2]s"; APT::Architectures { "%[2]s"; }; APT::Sandbox::User "";
Dir::State "%[1]s"; Dir::State::lists "%[1]s/lists"; Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache"; Dir::Etc "%[1]s/etc";
Dir::Etc::sourcelist "%[1]s/etc/sources.list"; Dir::Etc::sourceparts "-";
Dir::Etc::parts "%[1]s/etc/apt.conf.d";
Dir::Etc::preferencesparts "%[1]s/etc/preferences.d"; Acquire::Languages "none";
Acquire::Check-Valid-Until "false";
Acquire::IndexTargets::deb::Contents-deb {
	MetaKey "$(COMPONENT)/Contents-$(ARCHITECTURE)"; ShortDescription "Contents-$(ARCHITECTURE)";
	Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Contents (deb)"; DefaultEnabled "false";
};
`,
			dir,
			arch,
		),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "apt.conf"), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Version returns NAME=VERSION for a .deb: libc6=2.31-13+deb11u11 for
// libc6_2.31-13+deb11u11_amd64.deb.
func Version(deb string) string {
	parts := strings.Split(filepath.Base(deb), "_")
	if len(parts) < 3 {
		return filepath.Base(deb)
	}
	return parts[0] + "=" + strings.ReplaceAll(parts[1], "%3a", ":")
}

// Files calls visit for the regular files of a .deb. Paths have no leading slash; content is nil
// for files that want does not select.
func Files(
	ctx context.Context,
	deb string,
	want func(path string) bool,
	visit func(path string, content []byte) error,
) error {
	out, err := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb).Output()
	if err != nil {
		return fmt.Errorf("dpkg-deb: %w", err)
	}
	for r := tar.NewReader(bytes.NewReader(out)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		file := strings.TrimPrefix(path.Clean(h.Name), "/")
		if h.Typeflag != tar.TypeReg || !want(file) {
			continue
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if err := visit(file, content); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
}

// run runs a program of apt and returns its standard output. Its error contains the standard error.
func (x *Index) run(ctx context.Context, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = x.dir, x.env
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err,
			strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
