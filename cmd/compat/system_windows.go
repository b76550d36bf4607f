package main

import (
	"hash/fnv"
	"io/fs"
	"os"

	"github.com/compat-app/compat/analyzer/dynlink"
	"golang.org/x/sys/windows"
)

// errNotLink is the error of os.Readlink for a file that is not a symbolic link.
const errNotLink = windows.ERROR_NOT_A_REPARSE_POINT

// inode reports that files have no inode, so their digests are not cached.
func inode(fs.FileInfo) (device, number uint64, ok bool) { return 0, 0, false }

// terminalColumns returns the width of a console in columns; 0 for other files.
func terminalColumns(f *os.File) int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return 0
	}
	return int(info.Window.Right-info.Window.Left) + 1
}

// freeBytes returns how many bytes this user can write to the volume of a folder; ok is false if
// that is not known.
func freeBytes(dir string) (free uint64, ok bool) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil || windows.GetDiskFreeSpaceEx(name, &free, nil, nil) != nil {
		return 0, false
	}
	return free, true
}

// lddFile is an open file of a root.
type lddFile struct {
	*os.File
	info fs.FileInfo
}

// openInput opens a file that a person names.
func openInput(path string) (*os.File, error) { return os.Open(path) }

func openLddFile(path string) (*lddFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &lddFile{f, info}, nil
}

func (f *lddFile) Size() int64 {
	if !f.info.Mode().IsRegular() {
		return 0
	}
	return f.info.Size()
}

func (f *lddFile) Folder() bool { return f.info.IsDir() }

// ID identifies a file by its path, in which symbolic links are resolved.
func (f *lddFile) ID() dynlink.FileID {
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.Name())) // never fails
	return dynlink.FileID{Inode: h.Sum64()}
}
