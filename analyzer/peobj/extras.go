package peobj

import (
	"bytes"
	"encoding/xml"
	"slices"
	"strings"
)

// readManaged reads the flags of the .NET header. A file with only intermediate code is compiled
// when it runs.
func readManaged(m *image, h *header, o *Object) error {
	const ilOnly = 1
	at := h.dirs[dirCLR].rva
	if at == 0 {
		return nil
	}
	b, err := m.bytes(at, 20, "the .NET header")
	if err != nil {
		return err
	}
	o.Managed = word(b[16:])&ilOnly != 0
	return nil
}

// readLoadConfig reads from the load configuration (IMAGE_LOAD_CONFIG_DIRECTORY in winnt.h) how
// imports are searched (DependentLoadFlags), and whether the file has code for a second machine
// (CHPEMetadataPointer). The metadata of that is not read.
func readLoadConfig(m *image, h *header, o *Object) error {
	const pointer = 0xc8
	at := h.dirs[dirLoadConfig].rva
	if at == 0 {
		return nil
	}
	b, err := m.bytes(at, 4, "the load configuration")
	if err != nil {
		return err
	}
	size, flags := word(b), uint64(0x36)
	if h.wide {
		flags = 0x4e
	}
	if size >= flags+2 {
		if b, err = m.bytes(at+flags, 2, "the load configuration"); err != nil {
			return err
		}
		o.LoadFlags = little.Uint16(b)
	}
	if !h.wide || size < pointer+8 {
		return nil
	}
	if b, err = m.bytes(at+pointer, 8, "the load configuration"); err != nil {
		return err
	}
	if little.Uint64(b) == 0 {
		return nil
	}
	switch o.Machine {
	case Amd64:
		o.Machine, o.Hybrid = ARM64, "arm64ec"
	case ARM64:
		o.Hybrid = "arm64x"
	}
	return nil
}

// readManifest looks for a manifest in the resources, which names side-by-side assemblies.
// Resources do not affect loading otherwise, so damaged ones are ignored, as in the loader.
func readManifest(m *image, h *header, o *Object) error {
	const manifest = 24
	root := h.dirs[dirResource].rva
	if root == 0 {
		return nil
	}
	left := maxResources
	for _, kind := range m.resources(root, 0, &left) {
		if kind.id != manifest || !kind.folder {
			continue
		}
		for _, name := range m.resources(root, kind.at, &left) {
			for _, language := range m.resources(root, name.at, &left) {
				b, err := m.bytes(root+language.at, 8, "a resource")
				if err != nil || language.folder || word(b[4:]) > maxManifest {
					continue
				}
				text, err := m.bytes(word(b), word(b[4:]), "the manifest")
				if err != nil {
					continue
				}
				for _, a := range assemblies(text) {
					if !slices.Contains(o.Assemblies, a) {
						o.Assemblies = append(o.Assemblies, a)
					}
				}
			}
		}
	}
	return nil
}

// resource is an entry of a resource directory.
type resource struct {
	id     uint32 // for an entry without a name
	at     uint64 // offset from the start of the resources
	folder bool
}

// resources lists a resource directory; nil if it cannot be read.
func (m *image) resources(root, at uint64, left *int) []resource {
	const size = 16
	b, err := m.bytes(root+at, size, "the resources")
	if err != nil {
		return nil
	}
	n := int(little.Uint16(b[12:])) + int(little.Uint16(b[14:]))
	if n > *left {
		return nil
	}
	*left -= n
	var out []resource
	for i := range n {
		if b, err = m.bytes(root+at+size+8*uint64(i), 8, "the resources"); err != nil {
			return nil
		}
		const flag = 1 << 31
		to := little.Uint32(b[4:])
		out = append(out, resource{id: little.Uint32(b), at: uint64(to &^ flag), folder: to&flag != 0})
	}
	return out
}

// assemblies returns the names under dependentAssembly in a manifest; nil if it is not XML.
func assemblies(text []byte) []string {
	d := xml.NewDecoder(bytes.NewReader(text))
	d.Strict = false
	var out []string
	inside := 0
	for {
		t, err := d.RawToken()
		if err != nil {
			return out
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local == "dependentAssembly" {
				inside++
			}
			if t.Name.Local != "assemblyIdentity" || inside == 0 {
				continue
			}
			for _, a := range t.Attr {
				if a.Name.Local == "name" && len(out) < 64 {
					out = append(out, strings.ToValidUTF8(a.Value, "?"))
				}
			}
		case xml.EndElement:
			if t.Name.Local == "dependentAssembly" {
				inside--
			}
		}
	}
}
