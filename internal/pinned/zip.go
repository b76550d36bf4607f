package pinned

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/compat-app/compat/analyzer/unpack"
)

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
	header []byte // with the content, if there is no file
	file   string
	length int64 // of the file, in bytes
}

const localHeader = 30 // bytes, without the name (APPNOTE.TXT, 4.3.7)

// member is a file that a zip contains under another name.
type member struct {
	name, file string
	text       []byte // the content, if there is no file
}

func newZip(list []member) (*zip, error) {
	z := &zip{}
	var members []unpack.Member
	var lengths []int64
	for _, m := range list {
		name := m.name
		sum, n := crc32.ChecksumIEEE(m.text), int64(len(m.text))
		if m.file != "" {
			var err error
			if sum, n, err = checksum(m.file); err != nil {
				return nil, err
			}
		}
		header := make([]byte, localHeader, localHeader+len(name))
		copy(header, "PK\x03\x04")
		header[26], header[27] = byte(len(name)), byte(len(name)>>8)
		s := span{at: z.at, header: append(header, name...), file: m.file, length: n}
		if m.file == "" {
			s.header, s.length = append(s.header, m.text...), 0
		}
		length := int64(localHeader+len(name)) + n
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
	f, err := regular(file)
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
