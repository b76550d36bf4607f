package facts

import (
	"path"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/unpack"
)

// Cache has what was read of the members of wheels, so that a wheel with fixes is read only where
// it differs from the one before. It is for one analysis: objects refer to its Names.
type Cache struct {
	Names   *elfobj.Names
	mu      sync.Mutex
	members map[member]*prepared
}

// member identifies the content of a file in a wheel, as its archive declares it. The first read
// verified the checksum.
type member struct {
	path string
	size int64
	crc  uint32
	abi3 bool // the name of the wheel decides which symbols are read
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{Names: elfobj.NewNames(), members: map[member]*prepared{}}
}

func memberOf(p *unpack.Package, at string, size int64, crc uint32) member {
	return member{at, size, crc, strings.Contains(path.Base(p.Path), "abi3")}
}

// keep stores a file of a wheel that was read completely. Metadata is small, and changes.
func (c *Cache) keep(f *unpack.File, p *prepared) {
	if f.Package.Kind != unpack.KindWheel || p.err != nil || p.peErr != nil || p.gpuErr != nil ||
		p.object == nil && p.macho == nil && p.pe == nil && p.source == nil && p.module == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members[memberOf(f.Package, f.Path, f.Size, f.CRC32)] = p
}

// known implements unpack.Options.Known.
func (c *Cache) known(pkg *unpack.Package, path string, size int64, crc uint32) any {
	if pkg.Kind != unpack.KindWheel {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.members[memberOf(pkg, path, size, crc)]
	if p == nil {
		return nil
	}
	again := *p
	if p.object != nil { // each artifact adds links to its own
		object := *p.object
		again.object = &object
	}
	return &again
}
