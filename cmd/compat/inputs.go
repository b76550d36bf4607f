package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/compat-app/compat/analyzer"
)

// inputs opens what the user named: files as they are, and of folders every file that may hold objects.
type inputs struct {
	list   []analyzer.Input
	opened []*os.File
}

func (in *inputs) close() {
	for _, f := range in.opened {
		f.Close()
	}
}

// add opens a path. The error says what to do.
func (in *inputs) add(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		return fmt.Errorf("%s: no such file; the shell found nothing that matches, so build the wheels first or correct the pattern", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file or folder; give the path of a wheel, an archive, a shared library or a folder of them", path)
	case err != nil:
		return fmt.Errorf("%w; make it readable or leave it out", err)
	case info.IsDir():
		return in.folder(path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file; give the path of a wheel, an archive or a shared library", path)
	}
	return in.open(path)
}

var candidate = regexp.MustCompile(`\.(whl|zip|conda|tgz|tar(\.[a-z0-9]+)?|so(\.[0-9A-Za-z_.]+)?)$`)

func (in *inputs) folder(root string) error {
	before := len(in.list)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !candidate.MatchString(d.Name()) {
			return err
		}
		return in.open(p)
	})
	if err == nil && len(in.list) == before {
		return fmt.Errorf("%s: there is no wheel, archive or shared library in this folder", root)
	}
	return err
}

func (in *inputs) open(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w; make it readable or leave it out", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	in.opened = append(in.opened, f)
	in.list = append(in.list, analyzer.Input{Name: filepath.ToSlash(path), Content: f, Size: info.Size()})
	return nil
}
