//go:build unix

package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/compat-app/compat/analyzer/dynlink"
	"golang.org/x/sys/unix"
)

// errNotLink is the error of os.Readlink for a file that is not a symbolic link.
const errNotLink = syscall.EINVAL

// inode returns the device and the inode of a file.
func inode(info fs.FileInfo) (device, number uint64, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return uint64(s.Dev), s.Ino, true //nolint:unconvert // its width differs between systems
}

// terminalColumns returns the width of a terminal in columns; 0 for other files.
func terminalColumns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}

// openInput opens a file that a person names, without waiting for the other end of a pipe.
func openInput(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// openLddFile opens a file without blocking (O_NONBLOCK), because opening a pipe would wait for
// its other end. It uses system calls directly, because os.File registers each file with the
// poller, which costs more than reading it.
func openLddFile(path string) (*lddFile, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := &lddFile{fd: fd}
	if err := syscall.Fstat(fd, &f.stat); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lddFile is an open file of a root.
type lddFile struct {
	fd   int
	stat syscall.Stat_t
}

func (f *lddFile) ReadAt(b []byte, off int64) (int, error) {
	n := 0
	for n < len(b) {
		k, err := syscall.Pread(f.fd, b[n:], off+int64(n))
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return n, err
		case k == 0:
			return n, io.EOF
		default:
			n += k
		}
	}
	return n, nil
}

func (f *lddFile) Close() error { return syscall.Close(f.fd) }

func (f *lddFile) Size() int64 {
	if f.stat.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return 0
	}
	return f.stat.Size
}

func (f *lddFile) Folder() bool { return f.stat.Mode&syscall.S_IFMT == syscall.S_IFDIR }

func (f *lddFile) ID() dynlink.FileID {
	return dynlink.FileID{
		Device: uint64(f.stat.Dev), //nolint:unconvert // its width differs between systems
		Inode:  f.stat.Ino,
	}
}
