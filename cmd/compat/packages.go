package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/internal/index"
)

// packageSource is where a check looks packages up.
type packageSource struct {
	Source  packages.Source
	names   []string // hosts of the indexes; none: the embedded history alone
	indexes index.Several
}

// openPackages is the package indexes that url, or else pip and uv, name, before which stands the
// embedded history unless noHistory; or the history alone.
func openPackages(env environment, url string, noHistory bool) (*packageSource, error) {
	found, err := index.Find(url, env.Getenv)
	if err != nil {
		return nil, err
	}
	p := &packageSource{Source: packages.History()}
	switch {
	case len(found.URLs) == 0 && noHistory:
		return nil, errors.New(
			"--no-history leaves nobody to ask about packages; name a package index with --index-url or PIP_INDEX_URL",
		)
	case len(found.URLs) == 0:
		return p, nil
	}
	var history index.History
	if !noHistory {
		history = packages.History()
	}
	log := slog.New(slog.NewTextHandler(env.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	cache := diskCache(env, "packages", log)
	for _, u := range found.URLs {
		i, err := index.New(
			index.Options{
				URL:     u,
				Netrc:   found.Netrc,
				History: history,
				Cache:   cache,
				TempDir: os.TempDir(),
				Log:     log,
			},
		)
		if err != nil {
			return nil, err
		}
		p.indexes, p.names = append(p.indexes, i), append(p.names, i.Name())
	}
	p.Source = p.indexes
	return p, nil
}

// diskCache is a cache of that name in COMPAT_DATA, else in the user's cache folder. nil where
// there is no such place.
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

// cost is a line for --verbose.
func (p *packageSource) cost() string {
	if len(p.names) == 0 {
		return "packages: the built-in history answered, nothing was asked over the network"
	}
	return fmt.Sprintf("packages: %s of %v", p.indexes.Cost(), p.names)
}
