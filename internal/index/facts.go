package index

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	maxFacts  = 256 << 20 // bytes of a cached entry, uncompressed
	factsLife = 30 * 24 * time.Hour
	keepPlace = time.Hour // for files without a digest, whose content may change
)

// PageLife is how long the page of a project is cached.
const PageLife = 10 * time.Minute

// facts are the facts about a wheel except its libraries. They are cached as gzipped JSON.
type facts struct {
	Requires []pkgmeta.Requirement
	// RequiresPython is that of METADATA; "" = any.
	RequiresPython string          `json:",omitempty"`
	Objects        []unpack.Member // members with the name of a shared object
	Size           int64           // bytes of the wheel
	// the whole wheel was downloaded, because the index does not support ranges or it is small
	Whole bool
	Known bool // Objects is complete
	// Objects are those of the content that Open cached, where they have other offsets
	Opened bool
}

// factsKey returns the cache key of a wheel's facts and of its libraries: its digest, or else its
// URL. A lock file may have the digest of another file, and parts of a file cannot be compared with
// it. The number is increased when something is read that older entries do not have.
func factsKey(f file) (key string, keep time.Duration) {
	if f.locked {
		return "index/5/locked/" + hashed(f.sha256+" "+f.url.String()), factsLife
	}
	if f.sha256 != "" {
		return "index/5/" + f.sha256, factsLife
	}
	return "index/5/url/" + hashed(f.url.String()), keepPlace
}

func libraryKey(f file, path string) (key string, keep time.Duration) {
	key, keep = factsKey(f)
	return key + "/" + hashed(path), keep
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// loadCached reads a cached value. It returns false if the value is absent, damaged or cannot be
// read; then it is computed again.
func loadCached[T any](ctx context.Context, i *Index, key string, value *T) bool {
	data, err := i.cache.Get(ctx, key)
	if err != nil {
		i.log.WarnContext(ctx, "reading package facts from the cache", "err", err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return false
	}
	var read T
	if json.NewDecoder(io.LimitReader(z, maxFacts)).Decode(&read) != nil {
		return false
	}
	i.meter.cached.Add(1)
	*value = read
	return true
}

// storeCached caches a value. Errors are only logged.
func (i *Index) storeCached(ctx context.Context, key string, keep time.Duration, value any) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_ = json.NewEncoder(z).Encode(value) // neither the types nor the buffer can fail
	_ = z.Close()
	if err := i.cache.Put(ctx, key, b.Bytes(), keep); err != nil {
		i.log.WarnContext(ctx, "writing package facts to the cache", "err", err)
	}
}

func (i *Index) storeLibraries(ctx context.Context, f file, libraries map[string]packages.Library) {
	for path, l := range libraries {
		key, keep := libraryKey(f, path)
		i.storeCached(ctx, key, keep, l)
	}
}
