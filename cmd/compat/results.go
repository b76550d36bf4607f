package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/index"
)

// result is the cached output of a check. Its key contains the SHA-256 of every file (see digests;
// the checksums in a zip can be forged), the settings, and the size and time of this program. Only
// checks that use nothing but the built-in package history are cached: the content of an index or
// of other folders may change at any time.
type result struct {
	cache index.Cache // nil: this check is not cached
	key   string
}

// resultFormat begins the key of a result.
const resultFormat = "compat/check/1"

// cachedResult computes the key of a check. It sets the SHA-256 of the inputs on the way.
func cachedResult(
	ctx context.Context,
	env environment,
	f checkFlags,
	o analyzer.Options,
	failOn analyzer.Severity,
	inputs ...[]analyzer.Input,
) (result, error) {
	if f.noCache || len(f.output) > 0 || ofSources(f.format) || !o.NoIndex ||
		o.Root != nil || len(o.LibraryPath) > 0 || o.Conda != nil {
		return result{}, nil
	}
	// A failed write only makes the next check slower.
	log := slog.New(slog.DiscardHandler)
	cache, known := diskCache(env, "checks", log), digests{diskCache(env, "digests", log), time.Now}
	exe, err := os.Executable()
	if err != nil || cache == nil || known.cache == nil {
		return result{}, nil //nolint:nilerr // the check runs without the cache
	}
	program, err := os.Stat(exe)
	if err != nil {
		return result{}, nil //nolint:nilerr // likewise
	}
	type file struct{ Name, SHA256 string }
	files := make([][]file, len(inputs))
	for i, list := range inputs {
		for n := range list {
			if list[n].SHA256, err = known.of(ctx, list[n]); err != nil {
				return result{}, nil //nolint:nilerr // the analyzer reports what it cannot read
			}
			files[i] = append(files[i], file{list[n].Name, list[n].SHA256})
		}
	}
	key, err := json.Marshal(
		[]any{
			resultFormat,
			versionLine(),
			program.Size(),
			program.ModTime(),
			files,
			o,
			failOn,
			f.format,
			f.verbose,
			colored(env, env.Out),
			columns(env.Out),
		},
	)
	return result{cache, string(key)}, err
}

// load returns the output and the exit code of the cached check, if there is one.
func (a result) load(ctx context.Context) (printed []byte, code int, ok bool) {
	if a.cache == nil {
		return nil, 0, false
	}
	value, err := a.cache.Get(ctx, a.key)
	if err != nil {
		return nil, 0, false
	}
	body, ok := unsealed(value)
	if !ok {
		return nil, 0, false
	}
	return body[1:], int(body[0]), true
}

// store caches the output and the exit code.
func (a result) store(ctx context.Context, printed []byte, code int) {
	if a.cache == nil {
		return
	}
	// A failed write only makes the next check slower.
	_ = a.cache.Put(ctx, a.key, sealed(append([]byte{byte(code)}, printed...)), cacheLife)
}
