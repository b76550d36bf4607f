package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/index"
)

// result is the cached output of a check. Its key contains the SHA-256 of every file (see digests;
// the checksums in a zip can be forged), the settings, and the size and time of this program. Only
// checks that use nothing but the built-in package history are cached: the content of an index or
// of other folders may change at any time. The result of compat env for files is cached as long
// as the pages of an index are, and longer if nothing of the index but the wheels matters.
type result struct {
	cache index.Cache // nil: this check is not cached
	key   string
	life  time.Duration
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
	known := digests{diskCache(env, "digests", slog.New(slog.DiscardHandler)), time.Now}
	if known.cache == nil {
		return result{}, nil // the check runs without the cache
	}
	type file struct{ Name, SHA256 string }
	files := make([][]file, len(inputs))
	for i, list := range inputs {
		for n := range list {
			var err error
			if list[n].SHA256, err = known.of(ctx, list[n]); err != nil {
				return result{}, nil //nolint:nilerr // the analyzer reports what it cannot read
			}
			files[i] = append(files[i], file{list[n].Name, list[n].SHA256})
		}
	}
	return newResult(env, f, o, failOn, cacheLife, files)
}

// newResult returns the place of a result in the cache; inputs identify what is checked.
func newResult(
	env environment,
	f checkFlags,
	o analyzer.Options,
	failOn analyzer.Severity,
	life time.Duration,
	inputs any,
) (result, error) {
	cache := diskCache(env, "checks", slog.New(slog.DiscardHandler))
	exe, err := os.Executable()
	if err != nil || cache == nil {
		return result{}, nil //nolint:nilerr // the check runs without the cache
	}
	program, err := os.Stat(exe)
	if err != nil {
		return result{}, nil //nolint:nilerr // likewise
	}
	key, err := json.Marshal(
		[]any{
			resultFormat,
			versionLine(),
			program.Size(),
			program.ModTime(),
			inputs,
			o,
			failOn,
			f.format,
			f.verbose,
			f.allowPure,
			f.strict,
			colored(env, env.Out),
			columns(env.Out),
			inPullRequest(env),
		},
	)
	return result{cache, string(key), life}, err
}

// print writes the output of a cached check, if there is one. Its error has the exit code.
func (a result) print(ctx context.Context, env environment, verbose bool) (ok bool, err error) {
	printed, code, ok := a.load(ctx)
	if !ok {
		return false, nil
	}
	if _, err := env.Out.Write(printed); err != nil {
		return true, fmt.Errorf("writing the report: %w", err)
	}
	if verbose {
		fmt.Fprintln(env.Err, "using the cached result for these files; use --no-cache to check again")
	}
	return true, exited(code)
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
	_ = a.cache.Put(ctx, a.key, sealed(append([]byte{byte(code)}, printed...)), a.life)
}
