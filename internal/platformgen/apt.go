package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// fetch downloads the packages of one suite and architecture into the cache, once, and returns the paths of the .deb files by
// package name. Names that the suite does not have are left out.
func fetch(ctx context.Context, cache string, s suite, arch string, want []string) (map[string]string, error) {
	state := filepath.Join(cache, s.codename+"-"+arch)
	conf, err := privateApt(state, s, arch)
	if err != nil {
		return nil, err
	}
	env := append(os.Environ(), "APT_CONFIG="+conf, "LC_ALL=C")
	done := filepath.Join(state, "updated")
	if _, err := os.Stat(done); err != nil {
		if _, err := command(ctx, state, env, "apt-get", "update", "-qq"); err != nil {
			return nil, err
		}
		if err := os.WriteFile(done, nil, 0o644); err != nil {
			return nil, err
		}
	}
	known, err := command(ctx, state, env, "apt-cache", "pkgnames")
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
		if got[name] = downloaded(state, name); got[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		if _, err := command(ctx, state, env, "apt-get", append([]string{"download", "-qq"}, missing...)...); err != nil {
			return nil, err
		}
		for _, name := range missing {
			if got[name] = downloaded(state, name); got[name] == "" {
				delete(got, name) // a virtual package: known by name, nothing to download
			}
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

// debianURI matches the addresses of a Debian mirror in apt's own sources, in both of their formats. Security mirrors
// are not used, so that a later run gives the same packages until the next point release.
var debianURI = regexp.MustCompile(`(?m)^(?:URIs:|deb)[^#\n]*?\s(\S+/debian/?)(?:\s|$)`)

// mirror is the address of the Debian mirror of this machine's apt. The other distributions are looked for beside it, as general mirrors have them.
func mirror() (string, error) {
	for _, pattern := range []string{"/etc/apt/sources.list.d/*.sources", "/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			text, err := os.ReadFile(f)
			if m := debianURI.FindSubmatch(text); err == nil && m != nil {
				return string(m[1]), nil
			}
		}
	}
	return "", fmt.Errorf("no Debian mirror in this machine's apt sources: add one, or run this on a Debian system")
}

// privateApt writes an apt configuration that keeps all state in dir.
func privateApt(dir string, s suite, arch string) (conf string, err error) {
	address, err := mirror()
	if err != nil {
		return "", err
	}
	address = strings.TrimSuffix(strings.TrimSuffix(address, "/"), "debian") + s.mirror
	for _, d := range []string{"lists/partial", "cache/archives/partial", "etc/preferences.d", "etc/apt.conf.d"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return "", err
		}
	}
	options := "arch=" + arch
	if key := "/usr/share/keyrings/" + s.mirror + "-archive-keyring.gpg"; exists(key) {
		options += " signed-by=" + key
	} else {
		options += " trusted=yes" // the table is compared with the libraries by a test, and read by a person
	}
	lines := fmt.Sprintf("deb [%s] %s %s main\n", options, address, s.codename)
	if s.updates {
		lines += fmt.Sprintf("deb [%s] %s %s-updates main\n", options, address, s.codename)
	}
	files := map[string]string{
		"status":           "",
		"etc/sources.list": lines,
		"apt.conf": fmt.Sprintf(`APT::Architecture "%[2]s"; APT::Architectures { "%[2]s"; }; APT::Sandbox::User "";
Dir::State "%[1]s"; Dir::State::lists "%[1]s/lists"; Dir::State::status "%[1]s/status"; Dir::Cache "%[1]s/cache"; Dir::Etc "%[1]s/etc";
Dir::Etc::sourcelist "%[1]s/etc/sources.list"; Dir::Etc::sourceparts "-"; Dir::Etc::parts "%[1]s/etc/apt.conf.d";
Dir::Etc::preferencesparts "%[1]s/etc/preferences.d"; Acquire::Languages "none"; Acquire::Check-Valid-Until "false";
`, dir, arch),
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

// command runs a program and returns what it printed; its error holds what it complained of.
func command(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, env
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return string(out), nil
}
