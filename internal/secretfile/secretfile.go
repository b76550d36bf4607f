// Package secretfile reads files that contain secrets, again whenever they change, so that a secret
// is rotated without a restart. It refuses a file that other users can read.
//
//	file := secretfile.At("/etc/compat/key.pem")
//	data, err := file.Read() // nil, nil: it has not changed
package secretfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// maxSize is far more than any RSA key's PEM takes.
const maxSize = 64 << 10

// ErrMode is in the error of a file that other users can read or write. The error ends with what to
// do about it.
var ErrMode = errors.New("other users can read or write the file")

// File is a file with a secret. It is not safe for concurrent use.
type File struct {
	path string
	seen fs.FileInfo // as it was when it was last read; nil: it was not
}

// At is the file of a path. It may be a symbolic link, as the files of a Kubernetes secret are.
func At(path string) *File { return &File{path: path} }

// unreadable is the error of a file that the user of this process may not open. It ends with what
// to do about it.
func unreadable(path string) error {
	user, next := "this user", "let this user read it"
	if id := os.Geteuid(); id >= 0 { // not on Windows
		user = fmt.Sprintf("user %d", id)
		next = fmt.Sprintf("run chown %d for it, with Docker Compose for the file on the host", id)
	}
	return fmt.Errorf("%s: %s cannot read it or enter its folder (%w); %s", strconv.Quote(path), user,
		fs.ErrPermission, next)
}

// Read returns the content if the file has changed since the last successful Read, else nil. It
// returns an error of one line, without the content, if the file
//   - cannot be read (fs.ErrPermission: the error ends with what to do), or is not a regular file
//     of at most 64 KiB;
//   - can be read or written by users that it is not meant for: by everybody, or by its group. The
//     group may read a file of another user, as in a Kubernetes pod with fsGroup (0440, of root).
//     On Windows modes are not checked.
func (f *File) Read() ([]byte, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, unreadable(f.path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s", strings.Join(strings.Fields(err.Error()), " "))
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil, fmt.Errorf("%s is not a file of at most 64 KiB", strconv.Quote(f.path))
	}
	if err := private(f.path, info); err != nil {
		return nil, err
	}
	if f.seen != nil && os.SameFile(f.seen, info) && f.seen.ModTime().Equal(info.ModTime()) &&
		f.seen.Size() == info.Size() {
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil {
		return nil, err
	}
	f.seen = info
	return data, nil
}
