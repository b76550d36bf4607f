package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/compat-app/compat/analyzer/dynlink"
)

// lddRoot is a directory on this machine that is used as "/". Symbolic links, including absolute
// ones, are resolved inside it, so no path leads outside.
type lddRoot struct {
	dir     string           // real path, without a trailing slash
	folders map[string]place // requested path in the root -> real folder
}

// place is a resolved folder, or the error of resolving it.
type place struct {
	real string // path in the root; "" = the root itself
	err  error
}

func openRoot(dir string) (*lddRoot, error) {
	real, err := filepath.EvalSymlinks(dir)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder", dir)
	}
	return &lddRoot{dir: strings.TrimSuffix(real, "/"), folders: map[string]place{}}, nil
}

// maxLinks is the limit of the kernel (MAXSYMLINKS).
const maxLinks = 40

// resolve returns the real path of a path in the root, like the kernel in a chroot.
func (r *lddRoot) resolve(path string, links int) (string, error) {
	folder, name := filepath.Split(path)
	for name == "" && len(folder) > 1 { // trailing slashes
		folder, name = filepath.Split(strings.TrimRight(folder, "/"))
	}
	if name == "" {
		return "", nil
	}
	in, err := r.folder(folder, links)
	if err != nil {
		return "", err
	}
	switch name {
	case ".":
		return in, nil
	case "..":
		if i := strings.LastIndexByte(in, '/'); i >= 0 {
			return in[:i], nil
		}
		return "", nil
	}
	at := in + "/" + name
	target, err := os.Readlink(r.dir + at)
	if err != nil {
		if errors.Is(err, errNotLink) {
			return at, nil
		}
		return "", err
	}
	if links >= maxLinks {
		return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
	}
	if !strings.HasPrefix(target, "/") {
		target = in + "/" + target
	}
	return r.resolve(target, links+1)
}

func (r *lddRoot) folder(path string, links int) (string, error) {
	if p, ok := r.folders[path]; ok {
		return p.real, p.err
	}
	real, err := r.resolve(strings.TrimRight(path, "/"), links)
	if !errors.Is(err, syscall.ELOOP) || links == 0 {
		r.folders[path] = place{real, err}
	}
	return real, err
}

// Open implements dynlink.Root.
func (r *lddRoot) Open(path string) (dynlink.File, error) {
	real, err := r.resolve(path, 0)
	if err != nil {
		return nil, notThere(err)
	}
	f, err := openLddFile(r.dir + real)
	if err != nil {
		return nil, notThere(&fs.PathError{Op: "open", Path: path, Err: err})
	}
	if strings.HasSuffix(path, "/") && !f.Folder() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	return f, nil
}

// notThere converts the other errors of the kernel for a missing path to fs.ErrNotExist.
func notThere(err error) error {
	if errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG) {
		return fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	return err
}

// Place returns the path on this machine of a path in the root.
func (r *lddRoot) Place(path string) (string, error) {
	real, err := r.resolve(path, 0)
	if err != nil {
		return "", notThere(err)
	}
	return cmp.Or(r.dir+real, "/"), nil
}

// Exists reports whether there is a file or folder at a path.
func (r *lddRoot) Exists(path string) bool {
	at, err := r.Place(path)
	if err != nil {
		return false
	}
	_, err = os.Lstat(at)
	return err == nil
}

// Folder implements dynlink.Root.
func (r *lddRoot) Folder(path string) bool {
	real, err := r.folder(path, 0)
	if err != nil {
		return false
	}
	info, err := os.Lstat(r.dir + real + "/.")
	return err == nil && info.IsDir()
}
