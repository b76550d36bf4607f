package facts

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi3"
	"github.com/compat-app/compat/analyzer/machoobj"
	"github.com/compat-app/compat/analyzer/platform"
	"github.com/compat-app/compat/analyzer/unpack"
)

// MachObject is one Mach-O file of an artifact.
type MachObject struct {
	Path string // inside the artifact
	*machoobj.File
}

// Extension reports whether the file is a module that Python imports.
func (m *MachObject) Extension() bool {
	if extensionSuffix.MatchString(m.Path) {
		return true
	}
	for _, s := range m.Slices {
		if s.Object != nil && s.Object.Extension() {
			return true
		}
	}
	return false
}

// Host returns the program that loads the file. As for an object of Linux, its name and the entry
// points that it exports show which.
func (m *MachObject) Host() Host {
	exports := func(prefixes ...string) bool {
		return slices.ContainsFunc(m.Slices, func(s machoobj.Slice) bool {
			return s.Object != nil && slices.ContainsFunc(s.Object.Exports, func(e machoobj.Export) bool {
				return slices.ContainsFunc(prefixes, func(p string) bool {
					return strings.HasPrefix(e.Name, p)
				})
			})
		})
	}
	switch {
	case m.Extension():
		return HostPython
	case strings.HasSuffix(m.Path, ".node"),
		exports("_napi_register_module_v", "_node_register_module_v"):
		return HostNode
	case exports("_JNI_OnLoad", "_Java_"):
		return HostJava
	case slices.ContainsFunc(m.Slices, func(s machoobj.Slice) bool {
		return s.Object != nil && s.Object.Type == machoobj.Bundle // nothing links a bundle
	}):
		return HostUnknown
	}
	return HostNone
}

// ForIOS reports whether a wheel is for iOS. Its Mach-O files may be for any platform.
func (a *Artifact) ForIOS() bool {
	return slices.ContainsFunc(a.PlatformTags(), func(t string) bool {
		return platform.ParseTag(t).System == platform.TagIOS
	})
}

// machO reads a Mach-O file.
func (p *prepared) machO(f *unpack.File) {
	p.macho, p.err = machoobj.Read(f.Content, f.Size)
	p.machErr = p.err != nil
	if f.Package.Kind != unpack.KindWheel {
		return
	}
	p.listed, p.size, p.digest = true, f.Size, digest(f)
	if p.err != nil || !strings.Contains(path.Base(f.Package.Path), "abi3") {
		return
	}
	for _, s := range p.macho.Slices {
		if s.Object == nil || !strings.HasSuffix(f.Path, ".so") {
			continue
		}
		for _, i := range s.Object.Imports {
			if name := strings.TrimPrefix(i.Name, "_"); abi3.Names(name) {
				p.symbols = append(p.symbols, abi3.Symbol{Name: name})
			}
		}
		for _, e := range s.Object.Exports {
			if name := strings.TrimPrefix(e.Name, "_"); abi3.Names(name) {
				p.symbols = append(p.symbols, abi3.Symbol{Name: name})
			}
		}
	}
}

// machO adds a Mach-O file to an artifact. Slices that could not be read are unread or skipped;
// the others are used.
func (r *Set) machO(a *Artifact, inside, at string, p *prepared) {
	if a.audit != nil {
		a.audit.members.object(inside, p)
		if a.audit.tag != "" {
			a.audit.symbols = append(a.audit.symbols, p.symbols...)
		}
	}
	if p.machErr {
		r.Unread = append(r.Unread, Unread{at, p.err.Error()})
		a.UnreadMachO = append(a.UnreadMachO, inside)
		return
	}
	loadable, unread := false, false
	for _, s := range p.macho.Slices {
		name := at
		if p.macho.Fat {
			name += " (" + s.Arch + ")"
		}
		switch {
		case errors.Is(s.Err, machoobj.ErrForeign):
			r.Skipped = append(r.Skipped, Unread{name, s.Err.Error()})
		case s.Err != nil:
			r.Unread = append(r.Unread, Unread{name, s.Err.Error()})
			unread = true
		case !s.Object.Type.Loadable():
			r.Skipped = append(r.Skipped, Unread{name, "Mach-O of type " + string(s.Object.Type) +
				", which is never loaded"})
		case s.Object.Platform != machoobj.MacOS && s.Object.Platform != "" && !a.ForIOS():
			r.Skipped = append(r.Skipped, Unread{name, "Mach-O for " + string(s.Object.Platform) +
				", not checked"})
		default:
			loadable = true
		}
	}
	switch {
	case loadable:
		a.MachO = append(a.MachO, &MachObject{Path: inside, File: p.macho})
	case unread:
		a.UnreadMachO = append(a.UnreadMachO, inside)
	}
}
