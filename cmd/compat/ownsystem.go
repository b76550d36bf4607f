package main

import (
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
	"github.com/compat-app/compat/analyzer/platform"
)

// defaultPlatform is the platform of pinned packages, whose system is not known: the oldest for
// which most projects still build wheels.
const defaultPlatform = "manylinux_2_28"

// ownSystem is the system in a folder as the platform of packages that are installed in it.
type ownSystem struct {
	linker *dynlink.Linker
	name   string
	known  map[string]*platform.Platform // by architecture
	others []string                      // architectures for which defaultPlatform was returned
}

// openOwnSystem returns the system in a folder, "/" for that of this machine; nil if it has no
// loader for this machine's architecture, such as macOS.
func openOwnSystem(dir string) *ownSystem {
	root, err := openRoot(dir)
	if err != nil {
		return nil
	}
	s := &ownSystem{dynlink.NewLinker(root), systemName(root), map[string]*platform.Platform{}, nil}
	arch := platform.Arch(runtime.GOARCH)
	if s.known[arch], err = s.linker.Platform(s.name, arch); err != nil {
		return nil
	}
	return s
}

// own returns the platform for this machine's architecture.
func (s *ownSystem) own() *platform.Platform { return s.known[platform.Arch(runtime.GOARCH)] }

// platform is the function of analyzer.Options.Root. For an architecture whose programs the system
// does not run it returns defaultPlatform.
func (s *ownSystem) platform(arch string) (*platform.Platform, error) {
	if s.known[arch] == nil {
		p, err := s.linker.Platform(s.name, arch)
		if err != nil {
			s.others = append(s.others, arch)
			p, err = platform.Lookup(defaultPlatform, arch)
		}
		if err != nil {
			return nil, err
		}
		s.known[arch] = p
	}
	return s.known[arch], nil
}

// note says which libraries were used for installed packages.
func (s *ownSystem) note() string {
	if len(s.others) > 0 {
		return "this system (" + s.name + ") does not run programs for " +
			strings.Join(s.others, " and ") + ", so " + defaultPlatform +
			" was assumed; --platform names another"
	}
	return "the libraries of this system (" + s.name + ") were used; --platform names another"
}

// maxOSRelease limits the bytes that are read of os-release; usual ones have less than 1,000.
const maxOSRelease = 64 << 10

// osRelease returns the text of os-release(5) of a root, "" if there is none.
func osRelease(root *lddRoot) string {
	for _, file := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		f, err := root.Open(file)
		if err != nil {
			continue
		}
		text, err := io.ReadAll(io.NewSectionReader(f, 0, maxOSRelease))
		f.Close()
		if err == nil {
			return string(text)
		}
	}
	return ""
}

// systemName returns the name of the system in a root, from os-release(5): that of the built-in
// platform if there is one, as debian12, else PRETTY_NAME.
func systemName(root *lddRoot) string {
	values := platform.OSRelease(osRelease(root))
	system := values["ID"]
	if system == "amzn" {
		system = "amazonlinux"
	}
	arch := platform.Arch(runtime.GOARCH)
	numbers := strings.Split(values["VERSION_ID"], ".")
	for n := range slices.Backward(numbers) { // alpine3.20 of 3.20.1, rhel9 of 9.4
		name := system + strings.Join(numbers[:n+1], ".")
		p, err := platform.Lookup(name, arch)
		if system != "" && err == nil && p.Kind == platform.Distribution {
			return p.Name
		}
	}
	if name := values["PRETTY_NAME"]; name != "" {
		return name
	}
	return "this system"
}
