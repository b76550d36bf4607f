package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/compat-app/compat/analyzer/abi"
	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/headers"
)

// headerSide are the public headers of one side, which a compiler reads.
type headerSide struct {
	headers headers.Headers
	dirs    []string // of unpacked packages
}

// openHeaderSide returns the headers of some paths: headers, folders, and packages, which are
// unpacked. The caller removes the result, also after an error.
func openHeaderSide(ctx context.Context, flag string, paths []string) (*headerSide, error) {
	s := &headerSide{}
	for _, p := range paths {
		from := p
		if candidate.MatchString(p) {
			dir, err := os.MkdirTemp("", "compat-headers-")
			if err != nil {
				return s, err
			}
			s.dirs = append(s.dirs, dir)
			if err := unpackHeaders(ctx, p, dir); err != nil {
				return s, fmt.Errorf("%s: %w", flag, err)
			}
			from = dir
		}
		if err := s.headers.Add(from); err != nil {
			return s, fmt.Errorf("%s: %w", flag, err)
		}
	}
	return s, nil
}

func (s *headerSide) remove() {
	for _, dir := range s.dirs {
		os.RemoveAll(dir)
	}
}

// unpackHeaders writes the headers of a package to a folder.
func unpackHeaders(ctx context.Context, name, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	found := false
	err = walkPackage(ctx, name, headerMember, func(f *unpack.File) error {
		found = true
		to := strings.TrimLeft(f.Path, "./")
		if err := root.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		w, err := root.Create(to)
		if err != nil {
			return err
		}
		defer w.Close()
		_, err = io.Copy(w, io.NewSectionReader(f.Content, 0, min(f.Size, maxHeader)))
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("%s: it has no header", name)
	}
	return err
}

// declare reads the types of those libraries that have no debug information.
func (s *headerSide) declare(
	ctx context.Context, c headers.Compiler, libraries []*abi.Library,
) error {
	for _, l := range libraries {
		if l.Evidence != abi.EvidenceSymbols || l.Form != "" {
			continue
		}
		var exports []headers.Export
		for _, x := range l.Symbols {
			exports = append(exports, headers.Export{
				Name:     x.Name,
				Readable: abi.Readable(x.Name),
				Variable: x.Kind == elfobj.Data || x.Kind == elfobj.TLS,
			})
		}
		objects, err := s.headers.Types(ctx, c, exports)
		if err != nil {
			return err
		}
		var files []abi.File
		for _, o := range objects {
			files = append(files, abi.File{
				Name: l.Name, Content: bytes.NewReader(o), Size: int64(len(o)),
			})
		}
		if err := l.ReadDeclared(files); err != nil {
			return err
		}
	}
	return nil
}

// problem says why a header was not read.
func (s *headerSide) problem(r headers.Rejected) string {
	name := r.Header
	for _, dir := range s.dirs {
		name = strings.TrimPrefix(name, dir+"/")
	}
	hint := ""
	if strings.Contains(r.Reason, "No such file") || strings.Contains(r.Reason, "file not found") {
		hint = "; --cc 'gcc -I FOLDER' adds a folder"
	}
	return fmt.Sprintf("%s: the compiler says %q%s", name, r.Reason, hint)
}

// compiled gives the libraries of both sides the types of their headers, if --old-headers and
// --new-headers are given, and returns what differs in the source code of the headers.
func (f *diffFlags) compiled(ctx context.Context, old, new *side) ([]headers.Difference, error) {
	if len(f.oldHeaders) == 0 && len(f.newHeaders) == 0 {
		return nil, nil
	}
	if len(f.oldHeaders) == 0 || len(f.newHeaders) == 0 {
		return nil, errors.New("give --old-headers and --new-headers, or --headers to say only which " +
			"types are public")
	}
	c, err := headers.Find(f.cc)
	if err != nil {
		return nil, err
	}
	var sources []*headers.Source
	for _, x := range []struct {
		flag  string
		paths []string
		side  *side
	}{{"--old-headers", f.oldHeaders, old}, {"--new-headers", f.newHeaders, new}} {
		h, err := openHeaderSide(ctx, x.flag, x.paths)
		defer h.remove()
		if err != nil {
			return nil, err
		}
		cxx := slices.ContainsFunc(x.side.libraries, isCXX)
		source, rejected, err := h.headers.Source(ctx, c, cxx)
		if err == nil {
			err = h.declare(ctx, c, x.side.libraries)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.flag, err)
		}
		for _, r := range rejected {
			if p := h.problem(r); !slices.Contains(append(old.problems, new.problems...), p) {
				x.side.problems = append(x.side.problems, p)
			}
		}
		sources = append(sources, source)
	}
	return headers.Compare(sources[0], sources[1]), nil
}

// isCXX reports whether a library exports C++ functions.
func isCXX(l *abi.Library) bool {
	return slices.ContainsFunc(l.Symbols, func(s abi.Symbol) bool {
		return strings.HasPrefix(s.Name, "_Z")
	})
}
