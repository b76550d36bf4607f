package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/lazyregexp"
)

const (
	maxOpen  = 256     // open files; the usual limit of a process is 1024
	maxInput = 8 << 30 // bytes of standard input or a download; the largest wheels are below 4 GiB
)

// inputs are the opened files of a command line: files, the files of folders that may contain
// objects, published wheels (pypi:NAME==VERSION), image layouts (oci:DIR), and - for standard
// input.
type inputs struct {
	stdin io.Reader
	// downloads the wheel of a requirement
	download func(requirement string) (*index.Wheel, error)
	list     []analyzer.Input
	notes    []string // for the report
	saving   []saving // of the releases among the inputs
	opened   []io.Closer
}

// size returns the number of bytes of all inputs.
func (in *inputs) size() (n int64) {
	for _, i := range in.list {
		n += i.Size
	}
	return n
}

func (in *inputs) close() {
	for _, f := range in.opened {
		f.Close()
	}
}

// add opens a path, or all files that match it if it is a pattern that the shell did not expand.
func (in *inputs) add(path string) error {
	if path == "-" {
		return in.standard()
	}
	if requirement, ok := strings.CutPrefix(path, fromIndex); ok {
		return in.published(requirement)
	}
	if layout, ok := strings.CutPrefix(path, imageLayout); ok {
		return in.image(layout)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		found, _ := filepath.Glob(path) // a malformed pattern finds nothing
		if len(found) == 0 {
			problem := "no file matches; build the wheels first or correct the pattern"
			if several(path) {
				problem = "no file matches; these are several paths, so " + apart
			}
			return fmt.Errorf("%q: %s", path, problem)
		}
		for _, f := range found {
			if err := in.add(f); err != nil {
				return err
			}
		}
		return nil
	case errors.Is(err, fs.ErrNotExist):
		problem := "no such file or folder; give a wheel, an archive, a shared library or a folder"
		if several(path) {
			problem = "no such file or folder; these are several paths, so " + apart
		}
		return fmt.Errorf("%q: %s", path, problem)
	case err != nil:
		return fmt.Errorf("%w; make it readable or leave it out", err)
	case info.IsDir() && isLayout(path):
		return in.image(path)
	case info.IsDir():
		return in.folder(path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file; give a wheel, an archive or a shared library", path)
	}
	return in.open(path)
}

// apart says how to give several paths.
const apart = "give each as an argument of its own, and to the Action each on a line of its own"

// several reports whether a path that does not exist is a list of paths with commas or blanks
// between them. One that is a list has at least two parts of which one exists or is a pattern.
func several(path string) bool {
	parts := strings.FieldsFunc(path, separates)
	return len(parts) > 1 && slices.ContainsFunc(parts, func(p string) bool {
		found, _ := filepath.Glob(p) // a malformed pattern finds nothing
		return len(found) > 0 || strings.ContainsAny(p, "*?[")
	})
}

// separates reports whether people write a character between the entries of a list.
func separates(r rune) bool { return r == ',' || unicode.IsSpace(r) }

// nameList is the values of a flag for names, which contain neither commas nor blanks: the flag may
// be repeated, and a value may be several.
type nameList []string

func (n *nameList) String() string { return strings.Join(*n, ",") }

// Set adds the names of a value.
func (n *nameList) Set(value string) error {
	*n = append(*n, strings.FieldsFunc(value, separates)...)
	return nil
}

// Type is that of a flag that may be repeated.
func (*nameList) Type() string { return "stringArray" }

// standard copies standard input to a temporary file without a name.
func (in *inputs) standard() error {
	if in.stdin == nil {
		return errors.New("-: give standard input only once")
	}
	f, err := in.temporary()
	if err != nil {
		return fmt.Errorf("cannot store standard input: %w", err)
	}
	n, err := io.Copy(f, io.LimitReader(in.stdin, maxInput+1))
	in.stdin = nil
	switch {
	case err != nil:
		return fmt.Errorf("reading standard input: %w", err)
	case n > maxInput:
		return fmt.Errorf("standard input is longer than %d GiB; give a file instead", maxInput>>30)
	}
	if isWheel(f, n) {
		return errors.New("standard input is a wheel, and its tags are known only from its file name; " +
			"give the file instead of -")
	}
	in.list = append(in.list, analyzer.Input{Name: "stdin", Content: f, Size: n})
	return nil
}

// isWheel reports whether a file of a size is a ZIP archive with the metadata of a wheel.
func isWheel(f io.ReaderAt, size int64) bool {
	z, err := zip.NewReader(f, size)
	return err == nil && slices.ContainsFunc(z.File, func(m *zip.File) bool {
		dir, file := path.Split(m.Name)
		return file == "WHEEL" && strings.HasSuffix(dir, ".dist-info/")
	})
}

// temporary creates a file without a name.
func (in *inputs) temporary() (*os.File, error) {
	f, err := os.CreateTemp("", "compat-input-*")
	if err != nil {
		return nil, fmt.Errorf("%w; set TMPDIR to a folder with more space", err)
	}
	in.opened = append(in.opened, f)
	return f, os.Remove(f.Name())
}

var candidate = lazyregexp.New(
	`(?i)\.(whl|egg|zip|pex|pyz|conda|deb|rpm|jar|aar|war|ear|7z|snap|appimage|tgz|tbz2?|txz|tzst|tar(\.[a-z0-9]+)?|node|so(\.[0-9A-Za-z_.]+)?)$`,
)

func (in *inputs) folder(root string) error {
	before := len(in.list)
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && p != root {
			if wheel := unpackedFrom(p); wheel != "" {
				in.notes = append(in.notes, fmt.Sprintf("%s was not checked, because it is %s unpacked. "+
					"Remove the folder, or give its path to check it", filepath.ToSlash(p), wheel))
				return fs.SkipDir
			}
		}
		if err != nil || !d.Type().IsRegular() ||
			!candidate.MatchString(d.Name()) && !program(p, d) {
			return err
		}
		return in.open(p)
	})
	if err == nil && len(in.list) == before {
		return fmt.Errorf("%s: this folder contains no wheel, archive, shared library or program", root)
	}
	return err
}

// unpackedFrom returns the base name of the wheel next to a folder that "wheel unpack" extracted it
// to, or "".
func unpackedFrom(dir string) string {
	name := filepath.Base(dir) // NAME-VERSION
	if _, err := os.Stat(filepath.Join(dir, name+".dist-info", "WHEEL")); err != nil {
		return ""
	}
	siblings, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return ""
	}
	for _, s := range siblings {
		if s.Type().IsRegular() && strings.HasPrefix(s.Name(), name+"-") &&
			strings.HasSuffix(s.Name(), ".whl") {
			return s.Name()
		}
	}
	return ""
}

// program reports whether a file is an executable ELF file.
func program(path string, d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil || info.Mode()&0o111 == 0 {
		return false
	}
	return string(firstBytes(path, 4)) == "\x7fELF"
}

// maxText limits what readInput reads, which may be a device without an end. Lock files have at
// most 16 MiB, and configurations less.
const maxText = 64 << 20

// readInput reads a file that a person names.
func readInput(path string) ([]byte, error) {
	f, err := openInput(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if len(data) > maxText {
		return nil, fmt.Errorf("%s has more than %d MiB", path, maxText>>20)
	}
	return data, err
}

// firstBytes returns the first n bytes of a file; nil if it is shorter or cannot be read.
func firstBytes(path string, n int) []byte {
	f, err := openInput(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	head := make([]byte, n)
	if _, err := io.ReadFull(f, head); err != nil {
		return nil
	}
	return head
}

// readBinary reads a file on this machine with the reader of its format.
func readBinary[T any](path string, read func(io.ReaderAt, int64) (T, error)) (T, error) {
	var none T
	f, err := openInput(path)
	if err != nil {
		return none, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return none, err
	}
	if !info.Mode().IsRegular() {
		return none, fmt.Errorf("%s is not a regular file", path)
	}
	return read(f, info.Size())
}

func (in *inputs) open(path string) error {
	f, err := openInput(path)
	if err != nil {
		return fmt.Errorf("%w; make it readable or leave it out", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	input := analyzer.Input{Name: filepath.ToSlash(path), Content: f, Size: info.Size()}
	if len(in.opened) < maxOpen {
		in.opened = append(in.opened, f)
	} else {
		f.Close()
		input.Content = reopened(path)
	}
	in.list = append(in.list, input)
	return nil
}

// reopened is the path of a file that is opened for each read, because thousands of files cannot be
// open at once.
type reopened string

func (path reopened) ReadAt(p []byte, off int64) (int, error) {
	f, err := openInput(string(path))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.ReadAt(p, off)
}
