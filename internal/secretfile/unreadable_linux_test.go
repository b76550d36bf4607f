package secretfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The error of a file of another user names the user that has to be its owner.
func TestUnreadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("one"), 0); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is not used again
		if err := syscall.Setfsuid(65534); err != nil {
			t.Error(err)
		}
		_, err := At(path).Read()
		read <- err
	}()
	err := <-read
	if !errors.Is(err, fs.ErrPermission) || !strings.HasSuffix(err.Error(), "; run chown "+
		strconv.Itoa(os.Geteuid())+" for it, with Docker Compose for the file on the host") {
		t.Error(err)
	}
}
