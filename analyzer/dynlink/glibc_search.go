package dynlink

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// search implements the part of _dl_map_object that searches a name without "/" (glibc,
// elf/dl-load.c) for the object by. If tried is not nil, the paths that were tried are
// appended. A nil object with text "" means not found; otherwise text is the error message.
func (g *glibc) search(
	r *run,
	name string,
	by *loaded,
	tried *[]string,
) (o *object, found, how, text string) {
	if by.object == nil ||
		!by.object.m.HasRunPath { // DT_RPATH of the object, of the object that loaded it, and so on
		did := false
		for l := by; l != nil; l = l.by {
			if dirs := g.rpath(l); dirs != nil {
				if o, found, text = g.walk(dirs, name, tried); o != nil || text != "" {
					return o, found, foundRPath, text
				}
				did = did || l == r.main
			}
		}
		if dirs := g.rpath(r.main); !did && dirs != nil {
			if o, found, text = g.walk(dirs, name, tried); o != nil || text != "" {
				return o, found, foundRPath, text
			}
		}
		if o, found, text = g.walk(r.program, name, tried); o != nil || text != "" {
			return o, found, foundRPath, text
		}
	}
	if o, found, text = g.walk(r.libPath, name, tried); o != nil || text != "" {
		return o, found, foundLibPath, text
	}
	if o, found, text = g.walk(g.runpath(by), name, tried); o != nil || text != "" {
		return o, found, foundRunPath, text
	}
	noDefault := by.object != nil && by.object.m.Flags1&flag1NoDefLib != 0
	if p := g.cachePath(name); p != "" && !(noDefault && g.isDefault(p)) {
		if tried != nil {
			*tried = append(*tried, p)
		}
		if c, err := g.store.open(p); err == nil {
			ok, text := g.candidate(c)
			if text != "" {
				return nil, p, foundCache, text
			}
			if ok {
				return c, p, foundCache, ""
			}
		}
	}
	if noDefault {
		return nil, "", "", ""
	}
	o, found, text = g.walk(g.folders, name, tried)
	return o, found, foundDefault, text
}

func (g *glibc) isDefault(path string) bool {
	for _, f := range g.folders {
		if strings.HasPrefix(path, f) {
			return true
		}
	}
	return false
}

// walk implements open_path: it tries each folder with its hwcaps subfolders.
func (g *glibc) walk(dirs []string, name string, tried *[]string) (*object, string, string) {
	for _, dir := range dirs {
		any := false
		var last error
		for _, sub := range g.subs {
			at := dir + sub
			if !g.store.folder(at) {
				continue
			}
			any = true
			p := at + name
			if tried != nil {
				*tried = append(*tried, p)
			}
			o, err := g.store.open(p)
			if last = err; err != nil {
				continue
			}
			ok, text := g.candidate(o)
			if ok || text != "" {
				return o, p, text
			}
		}
		if any && last != nil && !searchContinues(last) {
			return nil, "", "" // a circular link: the entry exists and cannot be opened
		}
		if !any && tried != nil {
			*tried = append(*tried, dir+name)
		}
	}
	return nil, "", ""
}

func (g *glibc) rpath(l *loaded) []string {
	if !l.rpathDone {
		l.rpathDone = true
		if l.object != nil && l.object.m.RPath != "" {
			l.rpath = g.elements(l.object.m.RPath, ":", l)
		}
	}
	return l.rpath
}

func (g *glibc) runpath(l *loaded) []string {
	if !l.runpathDone {
		l.runpathDone = true
		if l.object != nil && l.object.m.RunPath != "" {
			l.runpath = g.elements(l.object.m.RunPath, ":", l)
		}
	}
	return l.runpath
}

// elements implements fillin_rpath: distinct folders that end with "/". An empty element is the
// working folder.
func (g *glibc) elements(list, separators string, l *loaded) []string {
	if list == "" {
		return nil
	}
	out := make([]string, 0, 4)
	for {
		i := strings.IndexAny(list, separators)
		e := list
		if i >= 0 {
			e = list[:i]
		}
		skip := false
		if e != "" {
			e, _ = g.expand(e, l)
			if skip = e == ""; !skip {
				for len(e) > 1 && e[len(e)-1] == '/' {
					e = e[:len(e)-1]
				}
				if e[len(e)-1] != '/' {
					e += "/"
				}
			}
		}
		if !skip && indexOf(out, e) < 0 {
			out = append(out, e)
		}
		if i < 0 {
			return out
		}
		list = list[i+1:]
	}
}

// expand replaces $ORIGIN, $LIB and $PLATFORM, with or without braces, unless a letter, digit
// or "_" follows. any reports whether there was one.
func (g *glibc) expand(s string, l *loaded) (out string, any bool) {
	if !strings.Contains(s, "$") {
		return s, false
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 {
			b.WriteString(s)
			return b.String(), any
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		name, n := token(s)
		switch name {
		case "ORIGIN":
			b.WriteString(l.originOf(g.store))
		case "LIB":
			b.WriteString(g.lib)
		case "PLATFORM":
			b.WriteString(g.cpu)
		default:
			b.WriteByte('$')
		}
		any = any || n > 0
		s = s[n:]
	}
}

// token returns the name and length of the dynamic string token at the start of s, after its
// "$".
func token(s string) (name string, n int) {
	for _, t := range [...]string{"ORIGIN", "PLATFORM", "LIB"} {
		if strings.HasPrefix(s, "{"+t+"}") {
			return t, len(t) + 2
		}
		if rest, ok := strings.CutPrefix(s, t); ok && (rest == "" || !letter(rest[0])) {
			return t, len(t)
		}
	}
	return "", 0
}

func letter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// maxCache limits the size of /etc/ld.so.cache; a desktop system has 200 KB.
const maxCache = 64 << 20

// cachePath returns the path for a name in /etc/ld.so.cache, or "". Format: glibc,
// sysdeps/generic/dl-cache.h: optionally the table of libc5, then "glibc-ld.so.cache1.1" with
// entries of flags, name, path and hwcap, and an extension with the names of the glibc-hwcaps
// folders. An invalid cache is ignored.
func (g *glibc) cachePath(name string) string {
	if g.cached == nil {
		g.cached = map[string]string{}
		if g.kind != nil {
			g.readCache(g.store.text("/etc/ld.so.cache", maxCache), order(g.kind.Big))
		}
	}
	return g.cached[name]
}

func (g *glibc) readCache(data []byte, ord binary.ByteOrder) {
	const old, magic, headSize, entrySize, oldEntry = "ld.so-1.7.0", "glibc-ld.so.cache1.1", 48, 24, 12
	if bytes.HasPrefix(data, []byte(old)) {
		if len(data) < 16 {
			return
		}
		n := uint64(ord.Uint32(data[12:]))
		skip := (16 + n*oldEntry + 7) &^ 7
		if skip > uint64(len(data)) {
			return
		}
		data = data[skip:]
	}
	if len(data) < headSize || string(data[:len(magic)]) != magic {
		return
	}
	if f := data[28] & 3; f != 0 && (f == 3) != (ord == binary.ByteOrder(binary.BigEndian)) {
		return
	}
	n := uint64(ord.Uint32(data[20:]))
	if n > uint64(len(data)-headSize)/entrySize {
		return
	}
	text := func(off uint32) string {
		if uint64(off) >= uint64(len(data)) {
			return ""
		}
		s, _, ok := bytes.Cut(data[off:], []byte{0})
		if !ok || len(s) > 4096 {
			return ""
		}
		return string(s)
	}
	caps := cacheCaps(data, ord, text)
	rank := map[string]int{}
	g.cached = make(map[string]string, n)
	for i := uint64(0); i < n; i++ {
		e := data[headSize+i*entrySize:]
		flags, hwcap := int32(ord.Uint32(e)), ord.Uint64(e[16:])
		if flags != 1 && flags != g.cacheID && (g.cacheID != 0 || flags&0xff != 3) {
			continue
		}
		better := 1 << 20 // an entry without a hwcaps folder comes last
		switch {
		case hwcap&(1<<62) != 0: // DL_CACHE_HWCAP_EXTENSION
			k := hwcap & (1<<32 - 1)
			if g.minor < 33 || k >= uint64(len(caps)) {
				continue
			}
			p := indexOf(g.subs, "glibc-hwcaps/"+caps[k]+"/")
			if p < 0 {
				continue
			}
			better = p
		case hwcap != 0:
			continue // a legacy hwcaps folder, for another CPU
		}
		key := text(ord.Uint32(e[4:]))
		if r, had := rank[key]; key == "" || had && r <= better {
			continue
		}
		if value := text(ord.Uint32(e[8:])); value != "" {
			rank[key] = better
			g.cached[key] = strings.Clone(value)
		}
	}
}

// cacheCaps returns the names in the extension cache_extension_tag_glibc_hwcaps.
func cacheCaps(data []byte, ord binary.ByteOrder, text func(uint32) string) (out []string) {
	at := uint64(ord.Uint32(data[32:]))
	if at == 0 || at+8 > uint64(len(data)) || ord.Uint32(data[at:]) != 0xeaa42174 {
		return nil
	}
	n := uint64(ord.Uint32(data[at+4:]))
	for i := uint64(0); i < n && at+8+16*(i+1) <= uint64(len(data)); i++ {
		s := data[at+8+16*i:]
		off, size := uint64(ord.Uint32(s[8:])), uint64(ord.Uint32(s[12:]))
		if ord.Uint32(s) != 1 || off+size > uint64(len(data)) {
			continue
		}
		for ; size >= 4; off, size = off+4, size-4 {
			out = append(out, text(ord.Uint32(data[off:])))
		}
	}
	return out
}

func indexOf(list []string, s string) int {
	for i, t := range list {
		if t == s {
			return i
		}
	}
	return -1
}
