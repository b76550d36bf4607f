package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/factstore"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/pinned"
)

// packageSource is the source of package facts for a check.
type packageSource struct {
	pinned.Lookup
	names []string // hosts of the indexes; empty = only the built-in history
	env   environment
	facts *factstore.Store // nil = none
}

// openPackages opens the package indexes of urls, else those that pip and uv are configured for.
// The built-in history comes first, unless noHistory is set. Without an index only the history is
// used. facts names the facts store, else COMPAT_FACTS. noCache ignores cached pages of the
// indexes.
func openPackages(
	env environment, urls []string, facts string, noHistory, noCache bool,
) (*packageSource, error) {
	found, err := index.Find(urls, env.Getenv)
	if err != nil {
		return nil, err
	}
	p := &packageSource{Lookup: pinned.Lookup{Source: packages.History()}, env: env}
	if p.facts, err = openFacts(env, facts); err != nil {
		return nil, err
	}
	switch {
	case len(found.URLs) == 0 && noHistory:
		return nil, noIndex(env, "--no-history needs a package index, and none is configured")
	case len(found.URLs) == 0:
		return p, nil
	}
	var history index.History
	if !noHistory {
		history = packages.History()
	}
	log := slog.New(slog.NewTextHandler(logStream(env), &slog.HandlerOptions{Level: slog.LevelWarn}))
	cache := diskCache(env, "packages", log)
	for _, u := range found.URLs {
		o := found.Options(u)
		o.History, o.Cache, o.TempDir, o.Log = history, cache, os.TempDir(), log
		if o.NewPages = noCache; p.facts != nil {
			o.Facts = p.facts
		}
		i, err := index.New(o)
		if err != nil {
			return nil, err
		}
		p.Indexes, p.names = append(p.Indexes, i), append(p.names, i.Name())
	}
	p.Source = p.Indexes
	return p, nil
}

// noIndex returns the error for what needs a package index, with the index that pip would use.
func noIndex(env environment, why string) error {
	why += "; name one with --index-url or PIP_INDEX_URL"
	if address, file := index.PipDefault(env.Getenv); address != "" {
		why += fmt.Sprintf(". pip would use %s (%s); to use it too: --index-url %s", address, file,
			index.OfPip)
	}
	return errors.New(why)
}

// compareHashes makes the source compare the hashes in lock and requirements files. Requirements
// without a hash that others of the file have are added to o.
func (p *packageSource) compareHashes(o *analyzer.Options, pins []*pinned.Pinned) {
	if len(pins) == 0 {
		return
	}
	p.Lookup = p.WithLock(&index.Locked{Digests: pinned.Locked(p.Addresses(), pins...).Digests})
	for _, files := range pins {
		o.NoWheel = append(o.NoWheel, files.Refused()...)
	}
}

// diskCache opens the named cache in COMPAT_DATA, else in the user's cache folder. It returns nil
// if neither exists.
func diskCache(env environment, name string, log *slog.Logger) index.Cache {
	dir, _ := env.Getenv("COMPAT_DATA")
	if dir == "" {
		if dir, _ = env.Getenv("XDG_CACHE_HOME"); dir == "" {
			home, _ := env.Getenv("HOME")
			if info, err := os.Stat(home); err != nil || !info.IsDir() {
				return nil
			}
			dir = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(dir, "compat")
	}
	d, err := index.NewDisk(filepath.Join(dir, name))
	if err != nil {
		if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			log.Warn(
				"what is found out is not kept; set COMPAT_DATA to a folder that can be written to",
				"err",
				err,
			)
		}
		return nil
	}
	return d
}

// cost summarizes the requests to package indexes, for --verbose.
func (p *packageSource) cost() string {
	if len(p.names) == 0 {
		return "packages: built-in package history only, no network requests"
	}
	return fmt.Sprintf("packages of %s: %s", strings.Join(p.names, ", "), p.Indexes.Cost())
}
