package index

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"time"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
)

const (
	maxFacts  = 256 << 20 // of a cached entry, inflated
	keepFacts = 30 * 24 * time.Hour
	keepPlace = time.Hour // of a file without a digest, whose place may change its mind
	keepPage  = 10 * time.Minute
)

// facts is what is known of one wheel without its libraries; it is what the cache holds, as gzipped
// JSON.
type facts struct {
	Requires []pkgmeta.Requirement
	Objects  []unpack.Member // by name a shared object
	Size     int64           // of the wheel
	// the index sends no ranges of it, or it is hardly larger than its directory
	Whole bool
	Known bool // Objects are all there are
}

// keys of a wheel's facts. With a digest the key is the content's own; without one it is the place.
func factsKey(f file) (key string, keep time.Duration) {
	if f.sha256 != "" {
		return "index/2/" + f.sha256, keepFacts
	}
	return "index/2/url/" + hashed(f.url.String()), keepPlace
}

func libraryKey(f file, path string) (key string, keep time.Duration) {
	key, keep = factsKey(f)
	return key + "/" + hashed(path), keep
}

func hashed(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:16])
}

// recall reads a cached value; false for what is absent, damaged, or can't be asked for: then it is
// found out again.
func recall[T any](ctx context.Context, i *Index, key string, value *T) bool {
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

// remember caches a value. One that can't be kept is found out again.
func (i *Index) remember(ctx context.Context, key string, keep time.Duration, value any) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_ = json.NewEncoder(z).Encode(value) // neither the types nor the buffer can fail
	_ = z.Close()
	if err := i.cache.Put(ctx, key, b.Bytes(), keep); err != nil {
		i.log.WarnContext(ctx, "writing package facts to the cache", "err", err)
	}
}

func (i *Index) rememberLibraries(
	ctx context.Context,
	f file,
	libraries map[string]packages.Library,
) {
	for path, l := range libraries {
		key, keep := libraryKey(f, path)
		i.remember(ctx, key, keep, l)
	}
}
