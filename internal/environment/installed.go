package environment

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/pkgmeta"
	"github.com/compat-app/compat/analyzer/unpack"
	"github.com/compat-app/compat/internal/lazyregexp"
)

// maxText limits the bytes read from a file in a dist-info directory; long RECORDs have some
// megabytes.
const maxText = 64 << 20

// Installed contains the distributions in a Python environment on disk.
type Installed struct {
	Site string // path of site-packages in the directory: "lib/python3.12/site-packages"
	// DistInfo are the names of the *.dist-info directories in Site
	DistInfo []string
	Wheels   Wheels
}

var sitePackages = lazyregexp.New(`^python(3\.[0-9]+)$`)

// OpenInstalled reads a virtual environment, or any directory with lib/python3.X/site-packages.
// It returns an error if there is none or more than one.
func OpenInstalled(dir string) (*Installed, error) {
	entries, err := os.ReadDir(filepath.Join(dir, "lib"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	in := &Installed{}
	for _, e := range entries {
		m := sitePackages.FindStringSubmatch(e.Name())
		if m == nil {
			continue
		}
		site := path.Join("lib", e.Name(), "site-packages")
		if info, err := os.Stat(filepath.Join(dir, site)); err != nil || !info.IsDir() {
			continue
		}
		if in.Site != "" {
			return nil, fmt.Errorf("%s has packages for more than one Python", dir)
		}
		in.Site, in.Wheels.On.Python = site, m[1]
	}
	if in.Site == "" {
		return nil, fmt.Errorf("%s has no lib/python3.X/site-packages; give the folder of a "+
			"virtual environment", dir)
	}
	root := filepath.Join(dir, filepath.FromSlash(in.Site))
	if entries, err = os.ReadDir(root); err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".dist-info") && e.IsDir() {
			in.DistInfo = append(in.DistInfo, e.Name())
			in.add(root, e.Name())
		}
	}
	return in, nil
}

// Close closes the files of the wheels.
func (in *Installed) Close() error { return in.Wheels.Close() }

// add adds the distribution of a dist-info directory.
func (in *Installed) add(root, info string) {
	unread := func(err error) {
		in.Wheels.Unread = append(in.Wheels.Unread, analyzer.Unread{
			Path: path.Join(in.Site, info), Reason: err.Error(),
		})
	}
	data, err := text(filepath.Join(root, info, "METADATA"))
	if err != nil {
		unread(err)
		return
	}
	meta, err := pkgmeta.ParseMetadata(data)
	if err != nil {
		unread(err)
		return
	}
	in.Wheels.With = append(in.Wheels.With, meta.Name+"=="+meta.Version)
	name := strings.ReplaceAll(pkgmeta.Normalize(meta.Name), "-", "_") + "-" + meta.Version + "-"
	record, err := text(filepath.Join(root, info, "RECORD"))
	if err != nil {
		unread(fmt.Errorf("%w: the files of %s are not known", err, meta.Name))
		return
	}
	var files []string
	err = pkgmeta.ParseRecord(record, func(row pkgmeta.RecordRow) bool {
		file := path.Clean(row.Path)
		if strings.Contains(path.Base(file), ".so") && filepath.IsLocal(filepath.FromSlash(file)) {
			files = append(files, file)
		}
		return true
	})
	if err != nil {
		unread(err)
		return
	}
	tags, err := text(filepath.Join(root, info, "WHEEL"))
	if len(files) == 0 || err != nil {
		// It contains nothing to load, or was not installed from a wheel.
		in.Wheels.Listed = append(in.Wheels.Listed, listed(name+"py3-none-any.whl", ""))
		return
	}
	z, err := newZip(root, append(files, path.Join(info, "METADATA"), path.Join(info, "WHEEL")))
	if err != nil {
		unread(err)
		return
	}
	in.Wheels.opened = append(in.Wheels.opened, z)
	in.Wheels.Wheels = append(in.Wheels.Wheels, analyzer.Input{
		Name: name + compressed(tags) + ".whl", Content: z, Size: z.size,
	})
}

// text reads a file of at most maxText bytes.
func text(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if len(data) > maxText {
		return nil, fmt.Errorf("%s has more than %d MiB", file, maxText>>20)
	}
	return data, err
}

// compressed returns the compressed tag set (PEP 425) of the Tag lines in WHEEL.
func compressed(wheel []byte) string {
	var parts [3][]string
	for lines := bufio.NewScanner(bytes.NewReader(wheel)); lines.Scan(); {
		tag, ok := strings.CutPrefix(lines.Text(), "Tag:")
		fields := strings.Split(strings.TrimSpace(tag), "-")
		if !ok || len(fields) != len(parts) {
			continue
		}
		for i, f := range fields {
			if !slices.Contains(parts[i], f) {
				parts[i] = append(parts[i], f)
			}
		}
	}
	if parts[0] == nil {
		return "py3-none-any"
	}
	return strings.Join(parts[0], ".") + "-" + strings.Join(parts[1], ".") + "-" +
		strings.Join(parts[2], ".")
}

// zip presents files on disk as an uncompressed zip archive. Their content is read when needed.
type zip struct {
	spans     []span
	directory []byte
	at, size  int64

	mu       sync.Mutex // guards open and openName
	open     *os.File
	openName string
}

// span is the position of one file and its local header in the archive.
type span struct {
	at     int64
	header []byte
	file   string
	length int64
}

const localHeader = 30 // bytes, without the name (APPNOTE.TXT, 4.3.7)

func newZip(root string, names []string) (*zip, error) {
	z := &zip{}
	var members []unpack.Member
	var lengths []int64
	for _, name := range names {
		file := filepath.Join(root, filepath.FromSlash(name))
		sum, n, err := checksum(file)
		if err != nil {
			return nil, err
		}
		header := make([]byte, localHeader, localHeader+len(name))
		copy(header, "PK\x03\x04")
		header[26], header[27] = byte(len(name)), byte(len(name)>>8)
		s := span{at: z.at, header: append(header, name...), file: file, length: n}
		length := int64(len(s.header)) + n
		members = append(members, unpack.Member{
			Path: name, Name: name, Size: n, Packed: n, Offset: z.at, CRC: sum,
		})
		lengths = append(lengths, length)
		z.spans = append(z.spans, s)
		z.at += length
	}
	z.directory = unpack.Sparse(members, lengths)
	z.size = z.at + int64(len(z.directory))
	return z, nil
}

func checksum(file string) (sum uint32, size int64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	h := crc32.NewIEEE()
	size, err = io.Copy(h, f)
	return h.Sum32(), size, err
}

// ReadAt implements io.ReaderAt.
func (z *zip) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		at := off + int64(n)
		if at >= z.at {
			m, err := bytes.NewReader(z.directory).ReadAt(p[n:], at-z.at)
			return n + m, err
		}
		i, found := slices.BinarySearchFunc(z.spans, at, func(s span, at int64) int {
			switch {
			case s.at+int64(len(s.header))+s.length <= at:
				return -1
			case s.at > at:
				return 1
			}
			return 0
		})
		if !found {
			return n, io.ErrUnexpectedEOF
		}
		m, err := z.read(&z.spans[i], p[n:], at-z.spans[i].at)
		if err != nil {
			return n, err
		}
		n += m
	}
	return n, nil
}

// read reads from one file or its header.
func (z *zip) read(s *span, p []byte, at int64) (int, error) {
	if at < int64(len(s.header)) {
		return copy(p, s.header[at:]), nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.openName != s.file {
		if err := z.closeFile(); err != nil {
			return 0, err
		}
		f, err := os.Open(s.file)
		if err != nil {
			return 0, err
		}
		z.open, z.openName = f, s.file
	}
	at -= int64(len(s.header))
	n, err := z.open.ReadAt(p[:min(int64(len(p)), s.length-at)], at)
	if errors.Is(err, io.EOF) && n > 0 {
		err = nil
	}
	return n, err
}

// Close closes the open file, if any.
func (z *zip) Close() error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.closeFile()
}

func (z *zip) closeFile() error {
	if z.open == nil {
		return nil
	}
	f := z.open
	z.open, z.openName = nil, ""
	return f.Close()
}
