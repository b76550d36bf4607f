package review

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/compat-app/compat/internal/pinned"
)

// place is an environment to review: its file and its configuration.
type place struct {
	file     string
	settings config.Environment
}

const (
	maxSearched = 60 // requirements files that are read to find the files that they include
	maxIncluded = 30 // files of one environment
)

// code matches files that environments never include.
var code = lazyregexp.New(
	`(?i)\.(py|pyi|pyx|md|rst|c|cc|cpp|cxx|h|hpp|cu|rs|go|js|ts|css|html|svg|png|jpg|ipynb|toml|json)$`)

// environments returns the environments that the diff changes, and the number of those above the
// limit.
func (c Change) environments(ctx context.Context) (out []place, more int, err error) {
	touched := func(p string) bool { return slices.Contains(c.Paths, p) }
	if !slices.ContainsFunc(c.Paths, func(p string) bool {
		return lockfile.Known(p) || !code.MatchString(p) ||
			slices.ContainsFunc(c.Config.Environments.List, func(e config.Environment) bool {
				return e.File == p
			})
	}) {
		return nil, 0, nil
	}
	var all []place
	files, err := c.Head.Files(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range c.Config.Environments.List {
		if file := path.Clean(e.File); slices.Contains(files, file) {
			all = append(all, place{file, e})
		}
	}
	if len(c.Config.Environments.List) == 0 {
		for _, f := range files {
			if lockfile.Known(f) {
				all = append(all, place{file: f})
			}
		}
	}
	searched := 0
	for _, p := range all {
		used := touched(p.file)
		for _, near := range nearby(p.file) {
			used = used || touched(near)
		}
		if !used && searched < maxSearched && lockfile.Written(p.file) {
			searched++
			var failed error
			files := filesOf(ctx, c.Head, p.file, &failed)
			_, _ = files.Pinned(packages.Target{Arch: architecture}) // its error is reported later
			if failed != nil {
				return nil, 0, failed
			}
			used = slices.ContainsFunc(files.Included(), touched)
		}
		switch {
		case used && len(out) == maxEnvironments:
			more++
		case used:
			out = append(out, p)
		}
	}
	return out, more, nil
}

// nearby returns the files that may name the interpreter and the system of an environment, those
// in its directory first.
func nearby(file string) []string {
	var out []string
	for _, dir := range slices.Compact([]string{path.Dir(file), "."}) {
		for _, name := range []string{"Dockerfile", ".python-version"} {
			out = append(out, path.Join(dir, name))
		}
	}
	return out
}

// errOutside is the error for a file that a line of a requirements file includes.
var errOutside = errors.New("it takes in a file outside of the repository")

// filesOf returns the files of an environment at a commit, each of which is requested once. failed
// is set to an error of the commit.
func filesOf(ctx context.Context, from Commit, file string, failed *error) *pinned.Files {
	texts, absent := map[string]string{}, map[string]error{}
	read := func(file string) ([]byte, error) {
		if !fs.ValidPath(file) {
			return nil, errOutside
		}
		text, known := texts[file]
		if !known {
			var there bool
			var err error
			if text, there, err = from.Read(ctx, file); err != nil {
				*failed = err
				return nil, err
			}
			if texts[file] = text; !there {
				absent[file] = fmt.Errorf("%s does not exist in this commit, or is too large", file)
			}
		}
		return []byte(text), absent[file]
	}
	return &pinned.Files{Paths: []string{file}, Read: read, Most: maxIncluded}
}

// unreviewed returns an error of pinned.Files with its place: that of a file which was not read is
// the line that includes it.
func unreviewed(file string, err error) *comment.Unreviewed {
	at := &comment.Unreviewed{File: file, Line: 1, Reason: err.Error()}
	for inner := (*pinned.FileError)(nil); errors.As(err, &inner); err = inner.Err {
		if at.Reason = inner.Reason(); inner.Missing {
			break
		}
		at.File, at.Line = inner.Path, max(inner.Line, 1)
	}
	return at
}
