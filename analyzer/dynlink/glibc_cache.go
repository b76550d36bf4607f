package dynlink

import (
	"bytes"
	"encoding/binary"
	"strings"
)

// maxCache bounds /etc/ld.so.cache; a full desktop has 200 KB.
const maxCache = 64 << 20

// cachePath answers a name from /etc/ld.so.cache, "" where it has none. Format: glibc,
// sysdeps/generic/dl-cache.h: optionally the table of libc 5 times, then "glibc-ld.so.cache1.1"
// with entries of flags, name, path and hwcap, and an extension that names the glibc-hwcaps
// folders. A cache that makes no sense is no cache.
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
		better := 1 << 20 // an entry of no hwcaps folder comes last
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
			continue // a legacy hwcaps folder of a CPU that is not assumed
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

// cacheCaps reads the names of the extension cache_extension_tag_glibc_hwcaps.
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
