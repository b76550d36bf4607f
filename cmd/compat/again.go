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

// again is what an earlier check of the same files with the same settings said, by the same
// program. A key holds the SHA-256 of each file in whole (see digests): a zip's own checksums can
// be forged. Only what the embedded history answered is kept, since what an index says may change
// from one day to the next, and so may what lies in other folders.
type again struct {
	cache index.Cache // nil: nothing is kept
	key   string
}

// againFormat begins a key, againKept is how long an entry that nobody asks for holds.
const (
	againFormat = "compat/check/1"
	againKept   = 30 * 24 * time.Hour
)

// earlier finds the place of a check, and tells the analyzer the digests that this takes.
func earlier(
	ctx context.Context,
	env environment,
	f checkFlags,
	o analyzer.Options,
	failOn analyzer.Severity,
	inputs ...[]analyzer.Input,
) (again, error) {
	if f.noCache || !o.NoIndex || o.Root != nil || len(o.LibraryPath) > 0 || o.Conda != nil {
		return again{}, nil
	}
	// A write that fails loses a shortcut and no answer.
	log := slog.New(slog.DiscardHandler)
	cache, known := diskCache(env, "checks", log), digests{diskCache(env, "digests", log), time.Now}
	exe, err := os.Executable()
	if err != nil || cache == nil || known.cache == nil {
		return again{}, nil //nolint:nilerr // the check is made without the shortcut
	}
	program, err := os.Stat(exe)
	if err != nil {
		return again{}, nil //nolint:nilerr // likewise
	}
	type file struct{ Name, SHA256 string }
	files := make([][]file, len(inputs))
	for i, list := range inputs {
		for n := range list {
			if list[n].SHA256, err = known.of(ctx, list[n]); err != nil {
				return again{}, nil //nolint:nilerr // the analyzer says what can't be read
			}
			files[i] = append(files[i], file{list[n].Name, list[n].SHA256})
		}
	}
	key, err := json.Marshal(
		[]any{
			againFormat,
			version(),
			program.Size(),
			program.ModTime(),
			files,
			o,
			failOn,
			f.format,
			f.verbose,
			coloured(env, env.Out),
		},
	)
	return again{cache, string(key)}, err
}

// take gives what was printed, and the exit code.
func (a again) take(ctx context.Context) (printed []byte, code int, ok bool) {
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

// keep stores it.
func (a again) keep(ctx context.Context, printed []byte, code int) {
	if a.cache == nil {
		return
	}
	_ = a.cache.Put(
		ctx,
		a.key,
		sealed(append([]byte{byte(code)}, printed...)),
		againKept,
	) // it is only slower then
}
