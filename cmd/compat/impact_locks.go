package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/impact"
	"github.com/compat-app/compat/analyzer/packages/lockfile"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/internal/pinned"
)

const (
	// maxLocks limits the lock and requirements files of --from-locks. A monorepo with one for each
	// of its services has some hundred.
	maxLocks = 1000
	// maxLockUsers limits the dependents that --from-locks finds, each of which is read.
	maxLockUsers = 1000
)

// lockTree is what the lock and requirements files below a folder pin.
type lockTree struct {
	files []impact.LockFile
	notes []string
	users []string // the dependents as requirements after pypi:, in the order of the files
}

// lockUsers finds the packages that files below some folders pin and that may use a package, at
// their pins. The error is that of ctx, or that a folder cannot be read or has no such file.
func (r *releases) lockUsers(ctx context.Context, dirs []string, name string) (*lockTree, error) {
	t := &lockTree{}
	for _, dir := range dirs {
		files, err := t.find(dir)
		if err != nil {
			return nil, fmt.Errorf("--from-locks: %w", err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("--from-locks %s: it has no lock or requirements file; compat reads %s, "+
				"requirements files and others that 'compat env --help' names", dir, lockfile.Usual())
		}
		for _, file := range files {
			if err := r.lockFile(ctx, t, file, name); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// find returns the lock and requirements files below a folder, sorted. Hidden folders and
// installed packages of other tools are skipped.
func (t *lockTree) find(dir string) (files []string, _ error) {
	seen := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil && p == dir {
			return err
		}
		if seen++; seen > maxTree || len(t.files)+len(files) >= maxLocks {
			t.notes = append(t.notes, fmt.Sprintf("the files from %s on were not looked at, because only "+
				"the first %d files of a folder, and %d lock files, are", filepath.ToSlash(p), maxTree,
				maxLocks))
			return fs.SkipAll
		}
		hidden := strings.HasPrefix(d.Name(), ".") && p != dir
		switch {
		case err != nil:
			t.notes = append(t.notes, filepath.ToSlash(p)+" could not be read: "+err.Error())
			return fs.SkipDir
		case d.IsDir() && (hidden || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.Type().IsRegular() && lockfile.Known(filepath.ToSlash(p)):
			files = append(files, p)
		}
		return nil
	})
	if pathError := (*os.PathError)(nil); errors.As(err, &pathError) {
		err = fmt.Errorf("%s: %w; give a folder", dir, pathError.Err)
	}
	return files, err
}

// lockFile adds what one file pins. The error is that of ctx.
func (r *releases) lockFile(ctx context.Context, t *lockTree, file, name string) error {
	f := impact.LockFile{Path: filepath.ToSlash(file), Dependents: []impact.LockPin{}}
	defer func() { t.files = append(t.files, f) }()
	files := pinnedIn(file)
	files.Everything = true
	read, err := files.Pinned(r.on)
	if err != nil {
		f.Unread = err.Error()
		if named := (*pinned.FileError)(nil); errors.As(err, &named) {
			f.Unread = named.Reason() + "; " + correction(err)
		}
		return nil
	}
	f.Pins, f.Unpinned = len(read.Pins), len(read.Unpinned)
	users, err := read.Users(ctx, name, r.from.Source)
	if err != nil {
		return err
	}
	f.Unrelated, f.Unknown = len(users.Others), users.Unknown
	for _, p := range users.Pins {
		pin := normalized(p.Requirement)
		d := fromIndex + pin
		q, version, _ := strings.Cut(pin, "==")
		w, err := r.indexes.Which(ctx, q, version, r.on)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && w.Pure:
			f.Pure++
			continue
		case slices.Contains(t.users, d):
		case len(t.users) >= maxLockUsers:
			f.Unknown = append(f.Unknown, pin)
			continue
		default:
			t.users = append(t.users, d)
		}
		f.Dependents = append(f.Dependents, impact.LockPin{Requirement: pin, Line: p.Line})
	}
	return nil
}

// normalized returns NAME==VERSION as an index writes it.
func normalized(pin string) string {
	name, version, _ := strings.Cut(pin, "==")
	if v, err := pkgmeta.ParseVersion(version); err == nil {
		version = v.String()
	}
	return pkgmeta.Normalize(name) + "==" + version
}
